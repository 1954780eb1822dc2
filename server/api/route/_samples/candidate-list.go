package main

import (
	"context"
	"fmt"
	"log"

	"github.com/berthd/berth/client"
)

func main() {
	placement, err := client.New("http://127.0.0.1:8778")
	if err != nil {
		log.Fatal(err)
	}
	found, err := placement.CandidateList(context.Background(), client.CandidateQuery{Resources: "VCPU:2,MEMORY_MB:2048", Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, candidate := range found.AllocationRequests {
		fmt.Println(candidate.Allocations)
	}
}
