-- What the accounts may do. Load it with --force: a server that lacks a privilege, or a table, refuses a line, and says so.
{{range .Grants}}{{.}};
{{end -}}
