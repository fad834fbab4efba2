package backups

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// layout are the options of a backup's option file that say how its files are laid out, and what a value of each looks
// like. Others are not believed: plugin_load and plugin_dir have the program that prepares it run what a backup brings, and
// names of files may lead out of it.
var layout = map[string]*regexp.Regexp{
	"innodb_checksum_algorithm":     word,
	"innodb_compression_level":      word,
	"innodb_fast_checksum":          word,
	"innodb_log_block_size":         word,
	"innodb_log_checksums":          word,
	"innodb_log_file_size":          word,
	"innodb_log_files_in_group":     word,
	"innodb_log_checksum_algorithm": word,
	"innodb_page_size":              word,
	"innodb_undo_tablespaces":       word,
	"innodb_undo_directory":         regexp.MustCompile(`^\./?$`),
	"innodb_data_file_path":         regexp.MustCompile(`^` + dataFile + `(;` + dataFile + `)*$`),
	"redo_log_version":              word,
	"server_id":                     word,
}

var word = regexp.MustCompile(`^\w{1,32}$`)

// dataFile is a file of the system tablespace, which lies in the data directory, as
// https://dev.mysql.com/doc/refman/8.4/en/innodb-init-startup-configuration.html has it, without raw devices.
const dataFile = `\w[\w.-]*:\d+[KMGkmg]?(:autoextend(:max:\d+[KMGkmg]?)?)?`

// options are those of layout that the option file of a backup has.
func options(text string) map[string]string {
	all := values(text)
	maps.DeleteFunc(all, func(name, value string) bool {
		fits := layout[name]
		return fits == nil || !fits.MatchString(value)
	})
	return all
}

// optionFile is an option file with the options of the layout alone.
func (p *Physical) optionFile() []byte {
	var b strings.Builder
	b.WriteString("[mysqld]\n")
	for _, name := range slices.Sorted(maps.Keys(p.options)) {
		fmt.Fprintf(&b, "%s=%s\n", name, p.options[name])
	}
	return []byte(b.String())
}
