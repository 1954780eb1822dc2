package run

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
)

// Names of the variables of the command. Those of the resource classes begin with variablePrefix.
const (
	variablePrefix    = "BERTH_"
	variableConsumer  = variablePrefix + "CONSUMER"
	variableClaim     = variablePrefix + "CLAIM"
	variableHost      = variablePrefix + "HOST"
	variableProviders = variablePrefix + "PROVIDERS"
)

// Variables returns the BERTH_ variables of a command that runs at a place, which are not settings of the server. Those of resource
// classes are missing.
func Variables() []string {
	return []string{variableConsumer, variableClaim, variableHost, variableProviders}
}

// variablesWith returns the variables of the command: those of the claim, whose file has a path, and those of its devices.
func (p *place) variablesWith(devices map[string]string, claimFile string) map[string]string {
	variables := map[string]string{variableConsumer: p.consumer.String(), variableClaim: claimFile, variableHost: p.host()}
	var providers []string
	amounts := map[string]int64{}
	for _, allocation := range p.claim().Allocations {
		amounts[allocation.Class] += allocation.Amount
		if !slices.Contains(providers, allocation.Name) {
			providers = append(providers, allocation.Name)
		}
	}
	variables[variableProviders] = strings.Join(providers, " ")
	for class, amount := range amounts {
		variables[variablePrefix+class] = fmt.Sprint(amount)
	}
	maps.Copy(variables, devices)
	return variables
}

// environ returns an environment with the variables of the command.
func (p *place) environ(inherited []string) []string {
	environ := slices.DeleteFunc(slices.Clone(inherited), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, isSet := p.variables[name]
		return isSet
	})
	for _, name := range slices.Sorted(maps.Keys(p.variables)) {
		environ = append(environ, name+"="+p.variables[name])
	}
	return environ
}

// script returns a shell script that exports the variables.
func (p *place) script() (text string) {
	for _, name := range slices.Sorted(maps.Keys(p.variables)) {
		text += "export " + name + "='" + strings.ReplaceAll(p.variables[name], "'", `'\''`) + "'\n"
	}
	return text
}

// files are the files for the command. They are created before the claim, so that one that cannot be written claims nothing.
type files struct {
	// claim is the path of BERTH_CLAIM. env is the path of --env-file, and envTemporary that of the file that replaces it.
	claim, env, envTemporary string
}

func (r *run) openFiles() error {
	claim, err := os.CreateTemp("", "berth-claim-*.json")
	if err != nil {
		return fmt.Errorf("cannot create the file of the claim: %w; set TMPDIR", err)
	}
	r.files.claim = claim.Name()
	if err := claim.Close(); err != nil || r.options.envFile == "" {
		return err
	}
	r.files.env = r.options.envFile
	if err := r.files.openEnv(); err != nil {
		r.files.remove()
		return frame.WrongFlag("env-file", r.files.env, fmt.Sprintf("cannot be written: %v", err), "name a file in a directory that exists")
	}
	return nil
}

// openEnv creates the file that replaces that of --env-file. What is no regular file, such as /dev/stderr, is written to.
func (f *files) openEnv() error {
	if found, err := os.Stat(f.env); err == nil && !found.Mode().IsRegular() {
		if found.IsDir() {
			return fs.ErrExist
		}
		f.envTemporary = f.env
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(f.env), "."+filepath.Base(f.env)+"-*")
	if err != nil {
		return err
	}
	f.envTemporary = file.Name()
	return file.Close()
}

// write writes the files of a place.
func (f *files) write(at *place) error {
	document, err := json.MarshalIndent(at.document, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.claim, append(document, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot write the file of the claim: %w", err)
	}
	if f.env == "" {
		return nil
	}
	err = os.WriteFile(f.envTemporary, []byte(at.script()), 0o600)
	if err == nil && f.envTemporary != f.env {
		err = os.Rename(f.envTemporary, f.env)
	}
	if err != nil {
		return fmt.Errorf("cannot write the file of --env-file: %w", err)
	}
	f.envTemporary = ""
	return nil
}

// remove removes the temporary files. That of --env-file stays.
func (f *files) remove() {
	os.Remove(f.claim)
	if f.envTemporary != "" && f.envTemporary != f.env {
		os.Remove(f.envTemporary)
	}
}
