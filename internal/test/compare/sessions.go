package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/berthd/berth/internal/test/process"
	"github.com/berthd/berth/internal/test/session"
)

// commandDir is the directory in which the sessions run.
const commandDir = "cmd/berth/command"

// sessions runs the recorded sessions of commands, each file on new services.
func (c *comparison) sessions(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(c.root, commandDir, "testdata/sessions/*.txt"))
	if err != nil {
		return err
	}
	played, requests := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if !c.files.MatchString(name) {
			continue
		}
		sent, err := c.session(ctx, name, file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		played, requests = played+1, requests+sent
	}
	c.note("%d files; the commands sent %d requests", played, requests)
	return nil
}

// session runs the command lines of a file with both builds. Each build has its own service. Both reach it at the same
// address, because the output contains it. It returns the number of requests of the old build.
func (c *comparison) session(ctx context.Context, name, file string) (requests int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	settings := map[string]string{}
	if strings.HasPrefix(name, "baremetal") {
		settings = map[string]string{"baremetal-backend": "database", "baremetal-hostname": "conductor-1", "baremetal-takeover-interval": "0s"}
	}
	p, err := c.start(ctx, settings)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.stop(ctx)) }()
	between := newProxy(func() error { return p.awaitConductors(ctx) })
	defer between.Close()
	for _, step := range session.Parse(string(text)) {
		before, first, err := p.command(ctx, between, p.old, step.Words())
		if err != nil {
			return requests, err
		}
		after, second, err := p.command(ctx, between, p.new, step.Words())
		if err != nil {
			return requests, err
		}
		requests += len(first)
		p.same.sent(step.Line, step.Line)
		label := p.next("session "+name+", command") + ": "
		sentBefore, sentAfter := p.same.pair(requestText(first), requestText(second))
		p.compared(label+"requests", "berth "+step.Line, -1, sentBefore, sentAfter)
		before, after = p.same.pair(before, after)
		p.compared(label+"output", "berth "+step.Line, -1, before, after)
	}
	return requests, nil
}

// command runs a command line with the build of a side. It returns the output and the requests.
func (p *pair) command(ctx context.Context, between *proxy, s *side, words []string) (output string, requests []string, err error) {
	between.begin(s.address)
	var stdout, stderr bytes.Buffer
	command := process.Command(ctx, s.program, words...)
	command.Dir, command.Stdout, command.Stderr = filepath.Join(p.root, commandDir), &stdout, &stderr
	command.Env = append(command.Env, "BERTH_URL="+between.URL, "HOME="+p.dir, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=")
	var ended *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &ended) {
		return "", nil, err
	}
	output = fmt.Sprintf("exit code %d\nstandard output:\n%s\nstandard error:\n%s", command.ProcessState.ExitCode(), &stdout, &stderr)
	return output, between.end(), p.awaitConductors(ctx)
}
