package apicommand

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"
	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/exactjson"
)

// treeFile is a file of `berth provider apply`: the body of PUT /resource_providers/{uuid}/tree with names where that
// has UUIDs, and with optional members.
type treeFile struct {
	Providers []fileProvider          `json:"resource_providers"`
	Deleted   map[string]fileDeleted  `json:"deleted_providers"`
	Consumers map[string]fileConsumer `json:"consumers"`
}

// fileProvider is a provider of a treeFile. A nil member stays as it is on the server.
type fileProvider struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
	// Parent and Generation of an existing provider are the current ones if they are left out.
	Parent      nullable.Nullable[string] `json:"parent_provider_uuid"`
	Generation  nullable.Nullable[int64]  `json:"generation"`
	Inventories *client.Inventories       `json:"inventories"`
	Traits      *[]string                 `json:"traits"`
	Aggregates  *[]uuid.UUID              `json:"aggregates"`

	// Members of responses, which the API ignores too.
	Root      any `json:"root_provider_uuid"`
	Links     any `json:"links"`
	Usages    any `json:"usages"`
	Sharing   any `json:"sharing"`
	CreatedAt any `json:"created_at"`
	UpdatedAt any `json:"updated_at"`
}

// fileDeleted is a provider to delete. Without a generation it is the current one.
type fileDeleted struct {
	Generation *int64 `json:"generation"`
}

// fileConsumer is the allocations that a consumer has afterwards. Other members keep their value if they are left out.
type fileConsumer struct {
	Allocations map[string]fileAllocations `json:"allocations"`
	Project     string                     `json:"project_id"`
	User        string                     `json:"user_id"`
	Type        string                     `json:"consumer_type"`
	Generation  nullable.Nullable[int64]   `json:"consumer_generation"`

	// Members of responses, which the API ignores too.
	UUID      any `json:"uuid"`
	CreatedAt any `json:"created_at"`
	UpdatedAt any `json:"updated_at"`
	Sharing   any `json:"sharing_only"`
	Node      any `json:"node_allocation"`
	Mappings  any `json:"mappings"`
}

type fileAllocations struct {
	Resources client.Resources `json:"resources"`

	// Members of responses, which the API ignores too.
	Generation any `json:"generation"`
	Name       any `json:"name"`
	Root       any `json:"root_provider_uuid"`
	CreatedAt  any `json:"created_at"`
}

// readTreeFile reads a file in YAML or JSON, which is YAML too; "-" is standard input.
func readTreeFile(path string) (*treeFile, error) {
	text, err := readInput(path)
	if err != nil {
		return nil, frame.WrongArgument("file", path, fmt.Sprintf("cannot be read: %v", err), "name a file in YAML or JSON, or - for standard input")
	}
	wrong := func(err error) error {
		return frame.WrongArgument("file", path, fmt.Sprintf("is not a provider tree: %v", err), "write the body of PUT /resource_providers/{uuid}/tree in YAML or JSON")
	}
	var document any
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		return nil, wrong(err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, wrong(errors.New("it has several documents"))
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, wrong(err)
	}
	read := &treeFile{}
	if err := exactjson.UnmarshalStrict(encoded, read); err != nil {
		return nil, wrong(err)
	}
	for i, provider := range read.Providers {
		if provider.UUID == "" && provider.Name == "" {
			return nil, wrong(fmt.Errorf("element %d of resource_providers has neither a name nor a uuid", i))
		}
	}
	return read, nil
}

// readInput reads a file, or standard input for "-".
func readInput(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}
