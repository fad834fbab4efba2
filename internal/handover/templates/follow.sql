-- Has this server follow the instance, from where the log goes on behind the base. It has a password.
{{range .Follow}}{{.}};
{{end -}}
