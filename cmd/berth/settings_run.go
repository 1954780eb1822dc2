package main

import (
	"io/fs"
	"net/netip"
	"strings"
	"time"
)

// runSettings are for the listener: sockets, TLS, limits and proxies.
type runSettings struct {
	SocketMode  fs.FileMode
	SocketOwner ownership

	TLSCert, TLSKey, TLSClientCA string

	MaxHeaderBytes       int64
	MaxRequests          int64
	MaxQueue             int64
	QueueTimeout         time.Duration
	MaxRequestsPerCaller int64
	ShutdownDelay        time.Duration

	ProxyHeaders   bool
	TrustedProxies []netip.Prefix
}

func (s *runSettings) table() []setting {
	return []setting{
		{name: "socket-mode", fallback: "0660", scope: forServer, value: fileMode(&s.SocketMode),
			help: "`mode` of Unix sockets: who may connect is who may write to them"},
		{name: "socket-owner", fallback: "", scope: forServer, value: owner(&s.SocketOwner),
			help: "`user:group` that Unix sockets are given to; empty leaves them to whom the process runs as"},
		{name: "tls-cert", fallback: "", scope: forServer, value: text(&s.TLSCert),
			help: "`file` with the certificate in PEM and those between it and its authority; with --tls-key it switches TLS on. " +
				"Changed files are taken up without a restart"},
		{name: "tls-key", fallback: "", scope: forServer, value: text(&s.TLSKey),
			help: "`file` with the key of the certificate, in PEM and without a password"},
		{name: "tls-client-ca", fallback: "", scope: forServer, value: text(&s.TLSClientCA),
			help: "`file` with authorities in PEM; clients must then have a certificate of one of them"},
		{name: "shutdown-delay", fallback: "0s", scope: forServer, value: duration(&s.ShutdownDelay, 0, 10*time.Minute),
			help: "`time` after SIGTERM in which requests are still accepted while /readyz says draining, for load balancers to notice"},
		{name: "max-header-bytes", fallback: "262144", scope: forServer, value: integer(&s.MaxHeaderBytes, 4096, 16<<20),
			help: "largest head of a request in `bytes`, its URL included; a larger one is answered 431"},
		{name: "max-requests", fallback: "1000", scope: forServer, value: integer(&s.MaxRequests, 0, 1<<20),
			help: "largest `number` of requests that run at once; 0 means any number. Those that wait for a connection to PostgreSQL count"},
		{name: "max-queue", fallback: "1000", scope: forServer, value: integer(&s.MaxQueue, 0, 1<<20),
			help: "largest `number` of requests that wait while --max-requests run; more are answered 503"},
		{name: "queue-timeout", fallback: "5s", scope: forServer, value: duration(&s.QueueTimeout, 0, time.Hour),
			help: "longest `time` that a request waits for its turn; after it the answer is 503"},
		{name: "max-requests-per-caller", fallback: "0", scope: forServer, value: integer(&s.MaxRequestsPerCaller, 0, 1<<20),
			help: "largest `number` of requests of one user that run or wait at once, more are answered 429; 0 means any number. " +
				"All requests of a service such as Nova come from one user"},
		{name: "proxy-headers", fallback: "false", scope: forServer, value: boolean(&s.ProxyHeaders),
			help: "believe Forwarded, X-Forwarded-Proto, -Host, -For and -Prefix; only behind a proxy that sets them or takes them away"},
		{name: "trusted-proxies", fallback: "", scope: forServer, value: networks(&s.TrustedProxies),
			help: "comma separated `networks` from which --proxy-headers believes these headers; empty means everybody who can connect"},
	}
}

// networks reads a list of networks, such as 192.0.2.0/24, and single addresses.
func networks(field *[]netip.Prefix) reader {
	return reader{kind: "networks", read: func(text string) *rule {
		var list []netip.Prefix
		for _, one := range splitList(text) {
			network, err := netip.ParsePrefix(one)
			if !strings.Contains(one, "/") {
				var single netip.Addr
				single, err = netip.ParseAddr(one)
				network = netip.PrefixFrom(single, single.BitLen())
			}
			if err != nil || network.Addr().Zone() != "" {
				return &rule{"holds " + one + ", which is not a network", "write addresses or networks such as 192.0.2.7,10.0.0.0/8,fd00::/8"}
			}
			list = append(list, network.Masked())
		}
		*field = list
		return nil
	}}
}

// brokenTogether are the rules that no setting of these can know alone.
func (s *runSettings) brokenTogether(find func(name string) setting) []error {
	var wrong []error
	cert, key, authority := find("tls-cert"), find("tls-key"), find("tls-client-ca")
	switch {
	case s.TLSCert != "" && s.TLSKey == "":
		wrong = append(wrong, &mistake{cert.name, cert.text, cert.origin, rule{"has no key", "set --tls-key (BERTH_TLS_KEY) as well"}})
	case s.TLSKey != "" && s.TLSCert == "":
		wrong = append(wrong, &mistake{key.name, key.text, key.origin, rule{"has no certificate", "set --tls-cert (BERTH_TLS_CERT) as well"}})
	case s.TLSClientCA != "" && s.TLSCert == "":
		wrong = append(wrong, &mistake{authority.name, authority.text, authority.origin, rule{
			"asks clients for certificates, which there are with TLS only", "set --tls-cert and --tls-key as well"}})
	}
	if proxies := find("trusted-proxies"); len(s.TrustedProxies) > 0 && !s.ProxyHeaders && !find("proxy-headers").wrong {
		wrong = append(wrong, &mistake{proxies.name, proxies.text, proxies.origin, rule{
			"says whose headers to believe, and none are", "set --proxy-headers (BERTH_PROXY_HEADERS=true) as well"}})
	}
	return wrong
}
