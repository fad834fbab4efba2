package dumpfile

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// TestStrangers has files of other programs refused by what they are, and text that only speaks of them not.
func TestStrangers(t *testing.T) {
	page := "\x12\x34\x56\x78\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x08" + strings.Repeat("\x00", 100)
	for begin, want := range map[string]string{
		"--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\n":                                                   "a dump of PostgreSQL",
		"--\n-- PostgreSQL database dump\n--\n\n\\restrict mYtOkEn\n":                                                           "a dump of PostgreSQL",
		"--\r\n-- PostgreSQL database cluster dump\r\n--\r\n":                                                                   "a dump of PostgreSQL",
		"\n\n\\restrict mYtOkEn\n\n-- Dumped from database version 18.1\n":                                                      "a dump of PostgreSQL",
		"-- Dumped by pg_dump version 16.1\n\nSET statement_timeout = 0;\nSET lock_timeout = 0;\n":                              "a dump of PostgreSQL",
		"\xef\xbb\xbfPGDMP\x01\x0e":                                                                                             "",
		"PGDMP\x01\x0e\x00\x04":                                                                                                 "an archive of PostgreSQL",
		"toc.dat" + strings.Repeat("\x00", tarMark-7) + tarMagic:                                                                "an archive of PostgreSQL",
		"shop.sql" + strings.Repeat("\x00", tarMark-8) + tarMagic:                                                               "a tar archive, not a dump; it begins with shop.sql",
		"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t (a int);\n":                                               "a dump of SQLite",
		"BEGIN TRANSACTION;\nCREATE TABLE \"t\" (a int);\n":                                                                     "a dump of SQLite",
		"SQLite format 3\x00\x10\x00":                                                                                           "a database of SQLite",
		"USE [master]\r\nGO\r\n/****** Object:  Database [shop] ******/\r\n":                                                    "a script of SQL Server",
		"/****** Object:  Table [dbo].[item]    Script Date: 1/1/2026 ******/\nSET ANSI_NULLS ON\nGO\n":                         "a script of SQL Server",
		"\ufeffSET ANSI_NULLS ON\r\nGO\r\n":                                                                                     "a script of SQL Server",
		string(utf16Text(binary.LittleEndian, "\ufeffUSE [shop]\r\nGO\r\nSET ANSI_NULLS ON\r\nGO\r\n")):                         "a script of SQL Server",
		"TAPE\x00\x00\x03\x00\x8c\x00":                                                                                          "a backup of SQL Server",
		"REM INSERTING into HR.ITEM\nSET DEFINE OFF;\n":                                                                         "a script of Oracle",
		"set define off;\nInsert into ITEM (ID) values (1);\n":                                                                  "a script of Oracle",
		"--------------------------------------------------------\n--  File created - Monday\n":                                 "SQL Developer",
		"\x03\x01TEXPORT:V11.02.00\nDHR\nRTABLES\n":                                                                             "an export of Oracle",
		"\x01\x01\x00\x00\x00\x01\x00\"SYS\".\"SYS_EXPORT_SCHEMA_01\"":                                                          "an export of Oracle",
		"\x6d\xe2\x99\x81\x66\x00\x00\x00":                                                                                      "mongodump",
		"\x2b\x00\x00\x00\x07_id\x00abcdefghijkl":                                                                               "MongoDB (BSON)",
		"\x00\x01\x00\x00Standard Jet DB\x00":                                                                                   "Microsoft Access",
		"\x00\x01\x00\x00Standard ACE DB\x00":                                                                                   "Microsoft Access",
		string(zipped(t, member{name: "[Content_Types].xml", text: "<Types/>"}, member{name: "xl/workbook.xml", text: "<w/>"})): "this zip archive",
		"<!DOCTYPE html>\n<html lang=\"en\">":                                                                                   "a page of a web server",
		"\r\n<HTML><HEAD>":                                                                                                      "a page of a web server",
		"<?xml version=\"1.0\"?>\n<mysqldump xmlns:xsi=\"\">":                                                                   "mysqldump --xml",
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code>":                                          "this is XML",
		"{\"id\": 1}\n":                                                    "this is JSON",
		"[\n {\"type\":\"header\"},":                                       "this is JSON",
		"id,name,price\n1,pen,2.50\n2,ink,3\n":                             "a table as text",
		"\"id\";\"name\"\r\n\"1\";\"it's (a) pen\"\r\n":                    "a table as text",
		"id\tname\n1\tpen\n":                                               "a table as text",
		"REDIS0011\xfa\tredis-ver":                                         "a database of Redis",
		"version https://git-lfs.github.com/spec/v1\noid sha256:00\n":      "a pointer of Git LFS",
		"XBSTCK01\x00\x01":                                                 "a backup by xtrabackup",
		"/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n/*!50003 SET @OLD": "as mysqlbinlog shows it",
		"# The proper term is pseudo_replica_mode, but we use this compatibility alias\n# to make the statement usable.\n/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n": "as mysqlbinlog shows it",
		"\xfebin\x00\x00\x00\x00":    "this is a binary log",
		page:                         "a file of InnoDB",
		"\xfe\x01\x09\x09\x03\x00":   ".frm",
		"\x04\x22\x4d\x18\x64\x40":   "lz4 -dc a.sql",
		"\x89LZO\x00\r\n\x1a\n":      "lzop -dc a.sql",
		"7z\xbc\xaf\x27\x1c\x00\x04": "7z x -so a.sql",
		"Salted__12345678":           "encrypted, by openssl",

		// dumps
		"-- PostgreSQL database dump, says this comment\nCREATE TABLE t (a int);\n":          "",
		"-- MariaDB dump 10.19\nINSERT INTO t VALUES ('--\n-- PostgreSQL database dump');\n": "",
		"INSERT INTO t VALUES ('USE [shop]\nGO\n<!DOCTYPE html>\n{\"a\": 1}');\n":            "",
		"SET NAMES utf8;\nSET foreign_key_checks = 0;\n":                                     "",
		"USE shop;\nGO_ON;\n":        "",
		"SELECT a,\nb,\nc FROM t;\n": "",
		"SELECT\ta\nFROM\tt;\n\n":    "",
		"begin\tx\nend\tx\n":         "",
		"/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n":                      "",
		"-- Adminer 4.8.1 MySQL 8.0 dump\n\nSET NAMES utf8;\nSET time_zone = '+00:00';\n":         "",
		"# --------------------------------------------------------\n# Host: 127.0.0.1\n":         "",
		"/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;\n/*!50530 SELECT 1 */": "",
		"": "",
	} {
		r, err := NewReader(strings.NewReader(begin), "a.sql")
		var fault *dump.Error
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", begin, err)
		case want != "" && (!errors.As(err, &fault) || !strings.Contains(err.Error(), want) || fault.Hint == ""):
			t.Errorf("%.80q: %v, want %q with a hint", begin, err, want)
		}
		if r != nil {
			r.Close()
		}
	}
}

// TestOffice tells a document from an archive of dumps, where the directory can be read.
func TestOffice(t *testing.T) {
	readBoth(t, zipped(t, member{name: "[Content_Types].xml", text: "<Types/>"}, member{name: "xl/workbook.xml", text: "<w/>"}), func(t *testing.T, _ string, _ []string, err error) {
		if err == nil || strings.HasSuffix(t.Name(), "file") && !strings.Contains(err.Error(), "a document of an office program") {
			t.Error(err)
		}
	})
}
