package config

import (
	"io/fs"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/wire/spool"
)

// listenerSettings holds the settings of the listeners: sockets, TLS, limits and proxies.
type listenerSettings struct {
	SocketMode  fs.FileMode
	SocketOwner Ownership

	TLSCert, TLSKey, TLSClientCA string

	MaxHeaderBytes int64
	MaxStreams     int64
	ShutdownDelay  time.Duration
	WriteTimeout   time.Duration
	Load           server.Limits
	Spool          spool.Options

	ProxyHeaders   bool
	TrustedProxies []netip.Prefix
}

func (s *listenerSettings) table() []setting.Setting {
	return []setting.Setting{
		{Name: "socket-mode", Fallback: "0660", Scope: ForServer, Value: fileMode(&s.SocketMode),
			Help: "file `mode` of Unix sockets; clients need write permission to connect"},
		{Name: "socket-owner", Fallback: "", Scope: ForServer, Value: owner(&s.SocketOwner),
			Help: "`user:group` that owns Unix sockets. Default: the user that runs the process"},
		{Name: "tls-cert", Fallback: "", Scope: ForServer, Value: setting.Text(&s.TLSCert),
			Help: "PEM `file` with the server certificate followed by its intermediate certificates; enables TLS together with --tls-key. " +
				"Berth reloads changed files without a restart"},
		{Name: "tls-key", Fallback: "", Scope: ForServer, Value: setting.Text(&s.TLSKey),
			Help: "PEM `file` with the unencrypted private key of the server certificate"},
		{Name: "tls-client-ca", Fallback: "", Scope: ForServer, Value: setting.Text(&s.TLSClientCA),
			Help: "PEM `file` of CA certificates; clients must then present a certificate that one of them issued"},
		{Name: "shutdown-delay", Fallback: "0s", Scope: ForServer, Value: setting.Duration(&s.ShutdownDelay, 0, 10*time.Minute),
			Help: "`time` after SIGTERM during which the server accepts requests while /readyz reports draining, so that load balancers remove it"},
		{Name: "max-header-bytes", Fallback: "262144", Scope: ForServer, Value: setting.Integer(&s.MaxHeaderBytes, 4096, 16<<20),
			Help: "maximum size of request headers in `bytes`, including the URL; larger requests get 431"},
		{Name: "max-requests", Fallback: "1000", Scope: ForServer, Value: setting.Integer(&s.Load.Requests, 0, 1<<20),
			Help: "maximum `number` of concurrent requests to the APIs; 0 means no limit. Probes, metrics, documents and pages of the console have slots of their own. Requests that wait for a connection to PostgreSQL count, " +
				"requests whose complete response is being written to the client do not. Requests with bodies above 64 KiB or of unknown size use at most three quarters"},
		{Name: "max-queued-requests", Fallback: "1000", Scope: ForServer, Value: setting.Integer(&s.Load.Queue, 0, 1<<20),
			Help: "maximum `number` of requests that wait while --max-requests run; further requests get 503"},
		{Name: "queue-timeout", Fallback: "5s", Scope: ForServer, Value: setting.Duration(&s.Load.Wait, 0, time.Hour),
			Help: "maximum `time` that a request waits in the queue; then it gets 503"},
		{Name: "max-requests-per-caller", Fallback: "0", Scope: ForServer, Value: setting.Integer(&s.Load.PerCaller, 0, 1<<20),
			Help: "maximum `number` of running and queued requests of one user, further requests get 429; 0 means no limit. " +
				"All services of Nova share one user"},
		{Name: "max-searches", Fallback: defaultSearches(), Scope: ForServer, Value: setting.Integer(&s.Load.Searches, 0, 1<<16),
			Help: "maximum `number` of concurrent searches for allocation candidates, capacity and claims; 0 means no limit. Long searches use " +
				"at most three quarters, and leave at least one of several. Other requests do not wait for searches. Default: one per processor, at least 2"},
		{Name: "max-queued-searches", Fallback: "500", Scope: ForServer, Value: setting.Integer(&s.Load.QueuedSearches, 0, 1<<20),
			Help: "maximum `number` of searches that wait while --max-searches run; further searches get 503. Users take turns. " +
				"It is at most half of the --max-requests that running searches leave, and at least 1"},
		{Name: "max-combinations-per-caller", Fallback: "10000000", Scope: ForServer, Value: setting.Integer(&s.Load.CombinationsPerCaller, 0, 1<<53),
			Help: "maximum `number` of combinations per second that the searches of one user try on average, in excess of one query with " +
				"--allocation-candidates-max-combinations; above it, long searches of the user wait. 0 means no limit"},
		{Name: "min-body-rate", Fallback: "32768", Scope: ForServer, Value: setting.Integer(&s.Load.BodyRate, 0, 1<<30),
			Help: "minimum average rate in `bytes` per second, after 5 s, of a request body above 64 KiB or of unknown size; " +
				"Berth responds to a slower client with 400 and closes its connection, or its stream in HTTP/2. 0 means no minimum"},
		{Name: "write-stall-timeout", Fallback: "30s", Scope: ForServer, Value: setting.Duration(&s.Load.WriteStall, 0, 24*time.Hour),
			Help: "maximum `time` without a TCP acknowledgment of written data; then Berth closes the connection. 0 means no limit"},
		{Name: "write-timeout", Fallback: "15m", Scope: ForServer, Value: setting.Duration(&s.WriteTimeout, 0, 24*time.Hour),
			Help: "maximum `time` to write a response after --request-timeout, even if the client reads steadily; 0 means no limit"},
		{Name: "spool-memory", Fallback: "16777216", Scope: ForServer, Value: setting.Integer(&s.Spool.Memory, 1<<20, 1<<40),
			Help: "maximum memory in `bytes` for complete responses that clients have not read; beyond it, and beyond 1 MiB per response, Berth stores them in files"},
		{Name: "spool-dir", Fallback: "", Scope: ForServer, Value: setting.Text(&s.Spool.Dir),
			Help: "`directory` for responses that exceed --spool-memory, in unlinked files. Default: the directory for temporary files"},
		{Name: "spool-max-bytes", Fallback: "1073741824", Scope: ForServer, Value: setting.Integer(&s.Spool.FileBytes, 0, 1<<50),
			Help: "maximum total size in `bytes` of responses in --spool-dir, each rounded up to 1 MiB; a request whose response does not fit gets 503. 0 means no files"},
		{Name: "max-streams", Fallback: "100", Scope: ForServer, Value: setting.Integer(&s.MaxStreams, 1, 1<<16),
			Help: "maximum `number` of concurrent streams per HTTP/2 connection (TLS only); Berth closes the connection of a client that resets and repeats requests faster than they end"},
		{Name: "proxy-headers", Fallback: "false", Scope: ForServer, Value: setting.Boolean(&s.ProxyHeaders),
			Help: "whether Berth trusts Forwarded and X-Forwarded-Proto, -Host, -For and -Prefix; only behind a proxy that sets or removes them"},
		{Name: "trusted-proxies", Fallback: "", Scope: ForServer, Value: networks(&s.TrustedProxies),
			Help: "comma-separated `networks` of proxies whose headers --proxy-headers trusts. Default: all clients"},
	}
}

// defaultSearches returns the default of max-searches. With one turn, a long search would delay all others.
func defaultSearches() string { return strconv.Itoa(max(2, runtime.GOMAXPROCS(0))) }

// networks returns a reader of a list of networks, such as 192.0.2.0/24, and single addresses.
func networks(field *[]netip.Prefix) setting.Reader {
	return setting.Reader{Kind: "networks", Read: func(text string) *frame.Rule {
		var list []netip.Prefix
		for _, item := range setting.SplitList(text) {
			network, err := netip.ParsePrefix(item)
			if !strings.Contains(item, "/") {
				var single netip.Addr
				single, err = netip.ParseAddr(item)
				network = netip.PrefixFrom(single, single.BitLen())
			}
			if err != nil || network.Addr().Zone() != "" {
				return &frame.Rule{Broken: "holds " + item + ", which is not a network", Remedy: "write addresses or networks such as 192.0.2.7,10.0.0.0/8,fd00::/8"}
			}
			list = append(list, network.Masked())
		}
		*field = list
		return nil
	}}
}

// validateCombination returns an error for each rule over several of these settings that is
// broken.
func (s *listenerSettings) validateCombination(find func(name string) setting.Setting) []error {
	var wrong []error
	if spool := find("spool-dir"); s.Spool.Dir != "" && !filepath.IsAbs(s.Spool.Dir) {
		wrong = append(wrong, &frame.InputError{Setting: spool.Name, Value: spool.Text, Origin: spool.Origin, Rule: frame.Rule{Broken: "is not an absolute path", Remedy: "write one such as /var/cache/berth"}})
	}
	cert, key, authority := find("tls-cert"), find("tls-key"), find("tls-client-ca")
	switch {
	case s.TLSCert != "" && s.TLSKey == "":
		wrong = append(wrong, &frame.InputError{Setting: cert.Name, Value: cert.Text, Origin: cert.Origin, Rule: frame.Rule{Broken: "has no key", Remedy: "set --tls-key (BERTH_TLS_KEY) as well"}})
	case s.TLSKey != "" && s.TLSCert == "":
		wrong = append(wrong, &frame.InputError{Setting: key.Name, Value: key.Text, Origin: key.Origin, Rule: frame.Rule{Broken: "has no certificate", Remedy: "set --tls-cert (BERTH_TLS_CERT) as well"}})
	case s.TLSClientCA != "" && s.TLSCert == "":
		wrong = append(wrong, &frame.InputError{Setting: authority.Name, Value: authority.Text, Origin: authority.Origin, Rule: frame.Rule{
			Broken: "requires client certificates, which need TLS", Remedy: "set --tls-cert and --tls-key as well"}})
	}
	if proxies := find("trusted-proxies"); len(s.TrustedProxies) > 0 && !s.ProxyHeaders && !find("proxy-headers").Wrong {
		wrong = append(wrong, &frame.InputError{Setting: proxies.Name, Value: proxies.Text, Origin: proxies.Origin, Rule: frame.Rule{
			Broken: "has no effect without --proxy-headers", Remedy: "set --proxy-headers (BERTH_PROXY_HEADERS=true) as well"}})
	}
	return wrong
}
