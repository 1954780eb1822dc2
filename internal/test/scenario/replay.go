package scenario

// Replay builds the requests of a file for a program that sends them to several servers and compares the responses with
// each other, not with the expectations.
type Replay struct {
	file  *File
	names *names
}

// Replay returns a replay for one server with this URL.
func (f *File) Replay(base string) *Replay { return &Replay{file: f, names: newNames(f, base)} }

// Requests returns the requests in the order in which Suite.Run sends them.
func (r *Replay) Requests() (all []Request) {
	for i := range r.file.Given {
		step := &r.file.Given[i]
		all = append(all, Request{step, r.file.version(step)})
	}
	return append(all, r.file.requests()...)
}

// Wire returns the bytes of a request. host is its Host header, unless the step has one.
func (r *Replay) Wire(request Request, host string) ([]byte, error) {
	made, body, err := r.names.request(request.Step, request.Version)
	if err != nil {
		return nil, err
	}
	return append(made.head(host), body...), nil
}

// Save stores the parts of a response that later requests contain. It fails if the response does not have them.
func (r *Replay) Save(request Request, body []byte) error {
	value, _ := parseJSON(body) // not JSON: it has no parts
	return r.names.save(request.Step.Save, value)
}
