package config

import (
	"io/fs"
	"strings"
	"testing"
)

func TestSettings_ListenAddresses_Parsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		ok, local bool
	}{
		"127.0.0.1:8778": {true, true},
		"127.0.0.1:8778, unix:/run/berth/berth.sock": {true, true},
		"unix:/run/berth.sock":                       {true, true},
		"127.0.0.1:1,:2":                             {true, false},
		"unix:berth.sock":                            {false, true},
		"unix:/run/../x":                             {false, true},
		"unix:/" + strings.Repeat("x", 107):          {false, true},
		"unix:":                                      {false, true},
		"127.0.0.1:8778,nonsense":                    {false, false},
		"":                                           {false, false},
		" , ":                                        {false, true},
	} {
		var field string
		if broken := addresses(&field).Read(text); (broken == nil) != want.ok || want.ok && field != text {
			t.Errorf("%q: %+v, stored %q", text, broken, field)
		}
		if want.ok && isLocal(text) != want.local {
			t.Errorf("%q is local: %v", text, !want.local)
		}
	}
}

func TestSettings_SocketOwnerAndMode_Parsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Ownership{
		"": {User: -1, Group: -1}, "root": {User: 0, Group: -1}, ":0": {User: -1, Group: 0}, "0:65534": {User: 0, Group: 65534}, "65532": {User: 65532, Group: -1}, "root:root": {User: 0, Group: 0},
	} {
		var got Ownership
		if broken := owner(&got).Read(text); broken != nil || got != want {
			t.Errorf("%q: %+v, %+v", text, got, broken)
		}
	}
	for _, text := range []string{"no-such-user-here", ":no-such-group-here", "-1"} {
		if broken := owner(new(Ownership)).Read(text); broken == nil {
			t.Errorf("%q was read", text)
		}
	}
	var mode fs.FileMode
	if broken := fileMode(&mode).Read("0640"); broken != nil || mode != 0o640 {
		t.Errorf("%v, %+v", mode, broken)
	}
	for _, text := range []string{"", "0980", "1777", "rw"} {
		if broken := fileMode(&mode).Read(text); broken == nil {
			t.Errorf("%q was read", text)
		}
	}
}
