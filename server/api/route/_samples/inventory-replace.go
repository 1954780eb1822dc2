package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

func main() {
	ctx := context.Background()
	placement, err := client.New("http://127.0.0.1:8778")
	if err != nil {
		log.Fatal(err)
	}
	provider, err := placement.ProviderShow(ctx, uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001"))
	if err != nil {
		log.Fatal(err)
	}
	inventories, _, err := placement.InventoryReplace(ctx, provider.UUID, provider.Generation, client.Inventories{
		"VCPU": {Total: 64}, "MEMORY_MB": {Total: 262144},
	})
	if errors.Is(err, client.ErrConcurrentUpdate) {
		log.Fatal("another client changed the provider: read it again and retry")
	} else if err != nil {
		log.Fatal(err)
	}
	fmt.Println(inventories["VCPU"].Total, "VCPU")
}
