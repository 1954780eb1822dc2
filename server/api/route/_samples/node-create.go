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
	node, err := baremetal.New(service).NodeCreate(context.Background(), baremetal.NewNode{
		Name: "rack-7", Driver: "fake-hardware", ResourceClass: "gold",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node.UUID, "is in state", node.ProvisionState)
}
