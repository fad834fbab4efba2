SELECT CONCAT(DATABASE(), CHAR(9), (SELECT GROUP_CONCAT(id, name ORDER BY id) FROM items), ' ',
  (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()), ' ', @@SESSION.lock_wait_timeout)
