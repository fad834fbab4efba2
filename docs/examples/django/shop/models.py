from django.db import models


class Item(models.Model):
    name = models.CharField(max_length=40)

    class Meta:
        db_table = "items"
