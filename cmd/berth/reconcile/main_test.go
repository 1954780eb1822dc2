package reconcile_test

import (
	"testing"

	"github.com/berthd/berth/internal/test/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
