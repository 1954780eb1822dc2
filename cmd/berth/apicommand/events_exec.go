package apicommand

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/historytext"
)

// eventHandler prints events or runs a command for them.
type eventHandler struct {
	f       *frame.Frame
	service *client.Client
	flags   *eventsFlags
	stop    frame.StopSteps
}

// handle returns an error if the position must not move behind the event.
func (h *eventHandler) handle(watched client.Watched) error {
	if h.flags.exec != "" {
		return h.execute(watched)
	}
	if *h.flags.format == frame.OutputJSON {
		return writeHistoryLine(h.f.Stdout, watched.Event)
	}
	texts, err := h.texts(watched.Event)
	if err != nil {
		return err
	}
	for _, row := range historyRows(texts, watched.Event) {
		if _, err := io.WriteString(h.f.Stdout, historyLine(row)); err != nil {
			return err
		}
	}
	return nil
}

// texts reads the names of an event. While the service is not available it asks again, as the stream does.
func (h *eventHandler) texts(event *client.HistoryEvent) (*historytext.Texts, error) {
	for failed := 1; ; failed++ {
		texts, err := historyTexts(h.stop.Asked, h.f, h.service, []client.HistoryEvent{*event})
		if !errors.Is(err, client.ErrUnavailable) {
			return texts, err
		}
		select {
		case <-h.stop.Asked.Done():
			return nil, h.stop.Asked.Err()
		case <-time.After(retryPause(failed)):
		}
	}
}

// execute runs the command until it succeeds, or has failed once more than --retries.
func (h *eventHandler) execute(watched client.Watched) error {
	for failed := 1; ; failed++ {
		err := h.run(watched)
		switch {
		case err == nil:
			return nil
		case h.stop.AtOnce.Err() != nil:
			return h.stop.AtOnce.Err()
		case failed > h.flags.retries && h.flags.onFailure == onFailureSkip:
			return h.note("event %d is skipped: the command failed %d times: %v", watched.Event.Index, failed, err)
		case failed > h.flags.retries:
			return fmt.Errorf("event %d: the command failed %d times: %w", watched.Event.Index, failed, err)
		}
		pause := retryPause(failed)
		if err := h.note("event %d: the command failed: %v; it is run again in %s", watched.Event.Index, err, pause); err != nil {
			return err
		}
		select {
		case <-h.stop.Asked.Done():
			return h.stop.Asked.Err()
		case <-time.After(pause):
		}
	}
}

func (h *eventHandler) note(format string, values ...any) error {
	_, err := fmt.Fprintf(h.f.Stderr, "berth: "+format+"\n", values...)
	return err
}

// stopDelay is how long a command has to end after SIGTERM.
const stopDelay = 5 * time.Second

// run runs the command once, in its own process group, so that the first signal of a terminal does not reach it.
func (h *eventHandler) run(watched client.Watched) error {
	variables, err := eventEnvironment(watched)
	if err != nil {
		return err
	}
	command := exec.CommandContext(h.stop.AtOnce, "sh", "-c", h.flags.exec)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = stopDelay
	command.Env = append(slices.Clone(h.f.Environ), variables...)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(append(slices.Clone(watched.Event.Response), '\n')), h.f.Stdout, h.f.Stderr
	if err = command.Run(); errors.Is(err, syscall.EPIPE) {
		return nil // a command need not read the event
	}
	return err
}

// maxListed is the maximum number of UUIDs in a variable of the environment, whose size is limited.
const maxListed = 1000

// eventEnvironment returns the variables of an event.
func eventEnvironment(watched client.Watched) ([]string, error) {
	event := watched.Event
	kinds, err := changedKinds(event)
	values := map[string]string{
		"INDEX": strconv.FormatInt(event.Index, 10), "LOG": watched.Position.Log.String(), "AT": event.At.UTC().Format(time.RFC3339Nano),
		"OPERATION": valueOr(event.By.Operation, ""), "REQUEST_ID": valueOr(event.By.RequestID, ""), "KINDS": strings.Join(kinds, " "),
		"PROVIDERS": keysText(event.Changes.ResourceProviders), "CONSUMERS": keysText(event.Changes.Consumers),
	}
	var environ []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		environ = append(environ, "BERTH_EVENT_"+name+"="+values[name])
	}
	return environ, err
}

func keysText[V any](objects map[string]V) string {
	keys := slices.Sorted(maps.Keys(objects))
	return strings.Join(keys[:min(len(keys), maxListed)], " ")
}

// changedKinds returns the kinds of objects that an event changed, such as consumers.
func changedKinds(event *client.HistoryEvent) ([]string, error) {
	var read struct{ Changes map[string]json.RawMessage }
	err := json.Unmarshal(event.Response, &read)
	return slices.Sorted(maps.Keys(read.Changes)), err
}

// readPosition reads a state file; nil: there is none.
func readPosition(path string) (*client.EventPosition, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the state: %w", err)
	}
	var position client.EventPosition
	if err := json.Unmarshal(text, &position); err != nil || position.Log == uuid.Nil || position.Index < 0 {
		return nil, fmt.Errorf("%s is not a state file of 'berth events': it begins with %.40q. Remove it to begin with the newest event", path, text)
	}
	return &position, nil
}

// writePosition replaces a state file.
func writePosition(path string, position client.EventPosition) error {
	text, err := json.Marshal(position)
	if err == nil {
		err = frame.ReplaceFile(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	return nil
}
