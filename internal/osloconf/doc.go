// Package osloconf reads the configuration files of OpenStack services: the lines,
// references and lists of oslo.config's INI.
//
// It knows how a value is written and where, not what it means: which groups and
// options there are, and what they do, is data of cmd/berth. It does not find files
// either, and it writes none.
//
// gopkg.in/ini.v1 was tried on the same samples first. It keeps no line numbers, so
// that neither a mistake nor the origin of a value could name its line; and it reads
// other things into some lines: `[group] rest` is a section, a value between
// backquotes loses them, one that begins with three quotes is an error, a line before
// the first section belongs to DEFAULT, and an indented assignment starts a value.
// The rules here were found by running oslo.config 9.0; a test in e2e runs both on the
// same files.
package osloconf
