package serve

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
)

func TestCLI_KeystoneBanner_SuggestsToken(t *testing.T) {
	t.Parallel()
	for auth, want := range map[string]string{
		config.AuthNoauth2:  `curl -H 'X-Auth-Token: admin' http://127.0.0.1:8778/resource_providers`,
		config.AuthKeystone: `curl -H "X-Auth-Token: $(openstack token issue -f value -c id)" http://127.0.0.1:8778/resource_providers`,
		config.AuthTokens:   `curl -H "Authorization: Bearer $BERTH_TOKEN" http://127.0.0.1:8778/resource_providers`,
		config.AuthOIDC:     `curl -H "Authorization: Bearer $BERTH_TOKEN" http://127.0.0.1:8778/resource_providers`,
	} {
		var printed bytes.Buffer
		f := frame.Frame{Stdout: &printed}
		printStartup(&f, &service{
			Settings: &config.Settings{AuthenticationSettings: config.AuthenticationSettings{Auth: auth}}, Database: &open.Database{},
			doors: []boundListener{{Listener: addressOnly{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8778}}}},
		})
		if !strings.Contains(printed.String(), "Try it:         "+want+"\n") {
			t.Errorf("%s: printed %q, want %q", auth, printed.String(), want)
		}
		if console := "Console:        http://127.0.0.1:8778/console\n"; !strings.Contains(printed.String(), console) {
			t.Errorf("%s: printed %q, want %q", auth, printed.String(), console)
		}
	}
}
