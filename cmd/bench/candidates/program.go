package candidates

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/internal/test/process"
)

// program is a berth program to measure, and the database that it has migrated.
type program struct {
	// file is the executable; suffix tells its databases from those of another program.
	file, suffix string
	// template is the database that those of the clouds are copied from.
	template string
}

// programs returns the program to measure, and that of --against if there is one.
func programs(ctx context.Context, on *rig.Rig, s settings, dir string) ([]program, error) {
	measured := program{file: s.berth, template: "migrated"}
	if measured.file == "" {
		measured.file = filepath.Join(dir, "berth")
		progress("building berth ...")
		if err := buildProgram(ctx, measured.file); err != nil {
			return nil, err
		}
	}
	all := []program{measured}
	if s.against != "" {
		all = append(all, program{file: s.against, suffix: "_against", template: "migrated_against"})
	}
	for i := range all {
		var err error
		if all[i].file, err = filepath.Abs(all[i].file); err != nil {
			return nil, err
		}
		if err := all[i].migrate(ctx, on); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// buildProgram builds the command that is measured without --berth, in the module of the product.
func buildProgram(ctx context.Context, file string) error {
	dir, err := process.Command(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/berthd/berth").Output()
	if err != nil {
		return fmt.Errorf("finding the module of berth, from a directory that has it: %w", err)
	}
	command := process.Command(ctx, "go", "build", "-o", file, "./cmd/berth")
	command.Dir = strings.TrimSpace(string(dir))
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building berth: %w\n%s", err, said)
	}
	return nil
}

// migrate makes the template. A server inserts the standard names when it starts.
func (p program) migrate(ctx context.Context, on *rig.Rig) error {
	if err := on.Create(ctx, p.template); err != nil {
		return err
	}
	migrate := process.Command(ctx, p.file, "db", "migrate", "--database-url", on.URL(p.template))
	if said, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("%s db migrate: %w\n%s", p.file, err, said)
	}
	server, err := p.serve(ctx, on.URL(p.template), rig.Connections)
	if err != nil {
		return err
	}
	return server.Stop()
}

// serve starts `berth serve` on a database. Without the Bare Metal API, the server has
// no periodic work.
func (p program) serve(ctx context.Context, database string, connections int, flags ...string) (*process.Process, error) {
	return process.Start(ctx, p.file, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--database-url", database, "--migrate=false", "--baremetal-backend", "off",
		"--db-max-connections", strconv.Itoa(connections), "--request-timeout", requestTimeout.String(),
		"--access-log=false", "--log-level", "error",
	}, flags...)...)
}

// temporary returns a directory for the program, and what removes it.
func temporary() (string, func(), error) {
	dir, err := os.MkdirTemp("", "berth-bench-program-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
