package placementdb_test

import (
	"strings"
	"testing"

	"github.com/berthd/berth/server/data/placementdb"
)

func TestImport_SQLAlchemyAddresses_Parsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"sqlite:////var/lib/placement.db":                                       {"sqlite:////var/lib/placement.db", "/var/lib/placement.db"},
		"sqlite+pysqlite:////a b/c.db?timeout=5":                                {"sqlite:////a b/c.db", "/a b/c.db"},
		"mysql+pymysql://u:p%40w@db.example.org/placement?charset=utf8":         {"mysql://u:***@db.example.org/placement", "u:p@w@tcp(db.example.org:3306)/placement?timeout=30s&time_zone=%27%2B00%3A00%27"},
		"mysql://u:a@b/c@h:33/placement":                                        {"mysql://u:***@h:33/placement", "u:a@b/c@tcp(h:33)/placement?timeout=30s&time_zone=%27%2B00%3A00%27"},
		"mariadb://root@/placement?unix_socket=/run/mysqld.sock":                {"mysql://root@/placement", "root@unix(/run/mysqld.sock)/placement?timeout=30s&time_zone=%27%2B00%3A00%27"},
		"postgresql+psycopg2://u:p%2Fw@[::1]:5433/placement?sslmode=disable":    {"postgresql://u:***@::1:5433/placement", ""},
		"postgres://u@/placement?host=/var/run/postgresql&client_encoding=utf8": {"postgresql://u@/placement", "postgres://u:@/placement?host=%2Fvar%2Frun%2Fpostgresql&timezone=UTC"},
	} {
		address, err := placementdb.ParseAddress(text)
		if err != nil || address.String() != want[0] || want[1] != "" && address.SourceOf() != want[1] {
			t.Errorf("%s: %q, %q, %v", text, address.String(), address.SourceOf(), err)
		}
	}
}

func TestImport_InvalidAddress_ErrorHidesPassword(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "hunter2", "oracle://u:hunter2@h/d", "mysql://u:hunter2@h", "sqlite://hunter2", "sqlite:///:memory:", "sqlite:///",
		"postgresql://u:hunter2%zz@h/d", "mysql://u:hunter2@h/d?%zz",
		"mysql://u:hunter2/a?b@h/d",
	} {
		address, err := placementdb.ParseAddress(text)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "sqlite:///") {
			t.Errorf("%q: %q, %v", text, address, err)
		}
	}
}

// FuzzAddressesNeverShowTheirPassword checks that two addresses that differ only in the password have the
// same text.
func FuzzAddressesNeverShowTheirPassword(f *testing.F) {
	f.Add("mysql", "u", "p@ss/w:ord", "h", "d")
	f.Add("postgresql", "", "%41", "[::1]", "x?y")
	f.Fuzz(func(t *testing.T, scheme, user, password, host, database string) {
		if strings.HasPrefix(strings.ToLower(scheme), "sqlite") || strings.Contains(scheme, "://") {
			return // a path is not a password
		}
		if password == "" || strings.Contains(password+user, "?") || strings.ContainsAny(host+database, "@") {
			return // the password would end there
		}
		shown := func(password string) (string, error) {
			address, err := placementdb.ParseAddress(scheme + "://" + user + ":" + password + "@" + host + "/" + database)
			return address.String(), err
		}
		one, err := shown(password)
		other, errOfOther := shown("another")
		if err == nil && one != other {
			t.Errorf("%q; with another password %q, %v", one, other, errOfOther)
		}
		if err != nil && errOfOther != nil && err.Error() != errOfOther.Error() && !strings.Contains(err.Error(), "percent sign") {
			t.Errorf("%v; with another password %v", err, errOfOther)
		}
	})
}

func TestImport_UUIDForms_Normalized(t *testing.T) {
	t.Parallel()
	const usual = "00000000-0000-4000-8000-00000000000a"
	for _, text := range []string{usual, "0000000000004000800000000000000A", "{00000000-0000-4000-8000-00000000000a}", "urn:uuid:" + usual} {
		if got := placementdb.ReadID(text); got != usual {
			t.Errorf("%s is %s", text, got)
		}
	}
	if a, b := placementdb.ReadID("x"), placementdb.ReadID("y"); a == b || a != placementdb.ReadID("x") {
		t.Errorf("%s, %s", a, b)
	}
}

func TestImport_SinglePrecisionRatio_ShortestDecimal(t *testing.T) {
	t.Parallel()
	for _, ratio := range []float64{1.1, 16, 0.1, 1.5, 3.4e38, 1234.567} {
		if got := placementdb.Shortest(float64(float32(ratio))); got != ratio {
			t.Errorf("Shortest(float32(%v)) = %v", ratio, got)
		}
	}
}
