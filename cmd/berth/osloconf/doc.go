// Package osloconf parses the configuration files of OpenStack services: the lines,
// references and repeated options of oslo.config's INI format.
//
// It is not for the meaning of groups and options, which package config knows. It
// neither searches nor writes files.
//
// gopkg.in/ini.v1 does not suffice. It keeps no line numbers, so that neither an error
// nor the origin of a value could name its line. It also parses some lines differently:
// `[group] rest` is a section, a value loses its backquotes, a value that begins with
// three quotes is an error, a line before the first section belongs to DEFAULT, and an
// indented assignment starts a new value. The rules here follow oslo.config 9.0; a test
// in e2e parses the same files with both.
package osloconf
