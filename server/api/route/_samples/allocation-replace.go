package main

import (
	"context"
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
	found, err := placement.CandidateList(ctx, client.CandidateQuery{Resources: "VCPU:2,MEMORY_MB:2048", Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	consumer := uuid.MustParse("1d5ecafe-0000-4000-8000-000000000001")
	for _, candidate := range found.AllocationRequests {
		wanted, err := client.ClaimOf(candidate, "web", "ada", "INSTANCE")
		if err != nil {
			log.Fatal(err)
		}
		claimed, err := placement.Claim(ctx, consumer, wanted)
		if err != nil {
			log.Fatal(err)
		}
		if claimed { // otherwise another consumer has claimed the capacity
			fmt.Println("claimed", wanted.Allocations)
			break
		}
	}
}
