package forwarded

import (
	"net/http"
	"net/netip"
	"strings"
)

// ipv6NetworkBits is the prefix length of the IPv6 network that one client usually has: it can send from
// any of its addresses.
const ipv6NetworkBits = 64

// Network returns the network of the client that sent a request, for limits that clients share fairly: an
// IPv4 address, an IPv6 network of 64 bits, a name that a proxy gave, or "" for Unix sockets.
//
// ClientView.Client is the first address in the headers, which the client itself may have written. Network
// reads them from the end: it skips the addresses of trusted proxies and returns the first other one,
// which a trusted proxy has added. If Trusted is empty, that is the last address.
func (p *Proxies) Network(r *http.Request) string {
	client := hostOf(r.RemoteAddr)
	if p == nil || !p.trusts(client) {
		return networkOf(client)
	}
	senders := sendersOf(r.Header)
	for i := len(senders) - 1; i >= 0; i-- {
		sender := nodeOf(strings.TrimSpace(senders[i]))
		if sender == "" {
			break
		}
		client = sender
		if len(p.Trusted) == 0 || !p.trusts(sender) {
			break
		}
	}
	return networkOf(client)
}

// maxSenderBytes is the maximum length of the headers that Network reads; real ones name a handful of
// addresses.
const maxSenderBytes = 4096

// sendersOf returns the addresses in the headers, in their order, or none if the headers are invalid.
func sendersOf(header http.Header) []string {
	values, newer := header.Values("Forwarded"), true
	if len(values) == 0 {
		values, newer = header.Values("X-Forwarded-For"), false
	}
	text := strings.Join(values, ",")
	switch {
	case len(text) > maxSenderBytes || text == "":
		return nil
	case !newer:
		return strings.Split(text, ",")
	}
	var senders []string
	for rest := text; rest != ""; {
		element, after, ok := next(rest)
		if !ok {
			return nil
		}
		senders = append(senders, element["for"])
		rest = strings.TrimPrefix(after, ",")
	}
	return senders
}

func networkOf(client string) string {
	address, err := netip.ParseAddr(client)
	if err != nil {
		return client
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	network, _ := address.Prefix(ipv6NetworkBits) // fails only for more bits than an address has
	return network.String()
}
