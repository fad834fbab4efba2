-- The accounts of the instance, with their passwords. Load it with --force: a server that has an account, or lacks a
-- plugin, refuses a line, and says so.
{{range .Accounts}}{{.}};
{{end -}}
