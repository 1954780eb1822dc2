package main

import (
	"context"
	"fmt"
	"log"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
)

func main() {
	service, err := client.New("http://127.0.0.1:8778")
	if err != nil {
		log.Fatal(err)
	}
	allocation, err := baremetal.New(service).NodeAllocationCreate(context.Background(), baremetal.NewAllocation{
		Name: "web-1", ResourceClass: "gold",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(allocation.UUID, "is in state", allocation.State)
}
