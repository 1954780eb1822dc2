package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/berthd/berth/internal/test/scenario"
)

// scenarioHost is the Host header of scenarios. Both services receive the same one, because responses contain it.
const scenarioHost = "127.0.0.1:8778"

// scenarioFlags are the flags of berth serve for the settings of scenario files. Without a flag the setting does not apply.
var scenarioFlags = map[string]string{
	"enforce_new_defaults": "enforce-new-defaults",
	"incomplete_project":   "incomplete-consumer-project-id",
	"incomplete_user":      "incomplete-consumer-user-id",
	"prefix":               "base-path",
	"cors_allowed_origins": "cors-allowed-origin",
	"cors_allow_headers":   "cors-allow-headers",
	"max_body_bytes":       "max-body-bytes",
	"max_candidates":       "max-allocation-candidates",
	"candidate_strategy":   "allocation-candidates-generation-strategy",
	"randomize_candidates": "", // the order of candidates would differ
}

// scenarios replays all files of scenarios, each on new services.
func (c *comparison) scenarios(ctx context.Context) error {
	files, err := scenario.Load(os.DirFS(filepath.Join(c.root, "server/api/placement/testdata/scenarios")))
	if err != nil {
		return err
	}
	played, unexpected := 0, 0
	for _, file := range files {
		if !c.files.MatchString(file.Theme) {
			continue
		}
		other, err := c.scenario(ctx, file)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Theme, err)
		}
		played, unexpected = played+1, unexpected+other
	}
	c.note("%d files; %d statuses of the old build are not those of the file", played, unexpected)
	return nil
}

// scenario replays a file. It returns how many statuses of the old build the file does not expect.
func (c *comparison) scenario(ctx context.Context, file *scenario.File) (unexpected int, err error) {
	settings, err := scenarioSettings(file)
	if err != nil {
		return 0, err
	}
	p, err := c.start(ctx, settings)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.stop(ctx)) }()
	old, new := file.Replay("http://"+scenarioHost), file.Replay("http://"+scenarioHost)
	for _, request := range old.Requests() {
		before, err := old.Wire(request, scenarioHost)
		if err != nil {
			return unexpected, err
		}
		after, err := new.Wire(request, scenarioHost)
		if err != nil {
			return unexpected, err
		}
		one, other, err := p.send(ctx, p.next("scenario "+file.Theme+", request")+" "+request.Step.Name, before, after)
		if err != nil {
			return unexpected, err
		}
		if request.Step.Status != 0 && request.Step.Status != one.status {
			unexpected++
		}
		// A response without a part that later requests contain differs from the other one, or neither has it.
		_, _ = old.Save(request, one.body), new.Save(request, other.body)
	}
	return unexpected, nil
}

func scenarioSettings(file *scenario.File) (map[string]string, error) {
	given, flags := map[string]any{}, map[string]string{}
	if err := file.DecodeSettings(&given); err != nil {
		return nil, err
	}
	for name, value := range given {
		flag, known := scenarioFlags[name]
		if !known {
			return nil, fmt.Errorf("the setting %s has no flag", name)
		}
		text := fmt.Sprint(value)
		if list, isList := value.([]any); isList {
			text = strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
		}
		if flag != "" {
			flags[flag] = text
		}
	}
	return flags, nil
}
