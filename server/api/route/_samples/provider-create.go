package main

import (
	"context"
	"fmt"
	"log"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

func main() {
	placement, err := client.New("http://127.0.0.1:8778")
	if err != nil {
		log.Fatal(err)
	}
	id := uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001")
	provider, err := placement.ProviderCreate(context.Background(), "compute-17", id, uuid.Nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(provider.UUID, "is at generation", provider.Generation)
}
