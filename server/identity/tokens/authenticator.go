package tokens

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthd/berth/server/identity/auth"
)

// Authenticator authenticates requests with the tokens of a file. It is safe for concurrent use. Watch and
// Refresh replace all tokens at once when the file changes.
type Authenticator struct {
	path    string
	now     func() time.Time
	current atomic.Pointer[map[hash]*Entry]
	stats   stats

	// reading protects the loading of the file; seen is its state when it was loaded, or when loading it
	// failed.
	reading sync.Mutex
	seen    fs.FileInfo
	failed  bool // reports that the last load failed
}

// Open reads a file and returns an authenticator with its tokens.
func Open(path string) (*Authenticator, error) {
	a := &Authenticator{path: path, now: time.Now}
	if err := a.load(); err != nil {
		return nil, err
	}
	return a, nil
}

// Tokens returns the number of tokens in the file, with the expired ones.
func (a *Authenticator) Tokens() int { return len(*a.current.Load()) }

// load reads the file and makes its tokens current. On an error the previous tokens remain current.
func (a *Authenticator) load() error {
	entries, info, err := read(a.path, serverOwners())
	a.seen, a.failed = info, err != nil
	a.stats.outdated.Store(a.failed)
	if err != nil {
		return err
	}
	byHash := make(map[hash]*Entry, len(entries))
	for i := range entries {
		byHash[entries[i].hash] = &entries[i]
	}
	a.current.Store(&byHash)
	return nil
}

// Authenticate returns the caller of a request, as auth.Authenticate specifies. It compares hashes by a
// lookup: a client that measures its time learns nothing about a token, because it cannot choose the hash
// of what it sends.
func (a *Authenticator) Authenticate(r *http.Request) (auth.Caller, error) {
	auth.DropIdentity(r.Header)
	token, err := auth.Token(r)
	if err != nil {
		a.stats.missing.Add(1)
		return auth.Caller{}, err
	}
	if !isWellFormed(token) {
		a.stats.malformed.Add(1)
		return auth.Caller{}, auth.InvalidToken("the token does not have the form of a token of Berth")
	}
	entry := (*a.current.Load())[sha256.Sum256([]byte(token))]
	switch {
	case entry == nil:
		a.stats.unknown.Add(1)
		return auth.Caller{}, auth.InvalidToken("the token is not in the tokens file; it may be revoked")
	case entry.IsExpired(a.now()):
		a.stats.expired.Add(1)
		return auth.Caller{}, auth.InvalidToken("the token " + entry.ID + " is expired")
	}
	a.stats.valid.Add(1)
	return entry.caller(), nil
}

// Refresh reloads the file if it has changed. If it cannot be loaded, the previous tokens remain current,
// and Refresh does not try the same state again.
func (a *Authenticator) Refresh() (changed bool, err error) {
	a.reading.Lock()
	defer a.reading.Unlock()
	now, err := a.stat()
	if err != nil || same(now, a.seen) {
		return false, err
	}
	err = a.load()
	return err == nil, err
}

// stat returns the state of the file. If the file is missing, it returns an error instead of a state
// without tokens: a file that is gone by mistake must not lock out every caller.
func (a *Authenticator) stat() (fs.FileInfo, error) {
	info, err := os.Stat(a.path)
	if err != nil {
		a.stats.outdated.Store(true)
		return nil, fmt.Errorf("the tokens file is gone or inaccessible: %w", err)
	}
	a.stats.outdated.Store(a.failed)
	return info, nil
}

// same reports whether two checks found the file in the same state.
func same(a, b fs.FileInfo) bool {
	return a != nil && b != nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode() &&
		ownerOf(a) == ownerOf(b) && os.SameFile(a, b)
}

// Watch reloads the file when it changes, until ctx ends. It checks the file at the given interval and
// loads a state that two consecutive checks have found, so that it does not load a file that is being
// written.
func (a *Authenticator) Watch(ctx context.Context, interval time.Duration, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var pending fs.FileInfo
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if a.isStable(&pending) {
			told = ""
			continue
		}
		told = a.refreshAndLog(log, told)
	}
}

// Reload is Refresh at once, for an operator who requests it. It logs the result.
func (a *Authenticator) Reload(log *slog.Logger) { a.refreshAndLog(log, "") }

// refreshAndLog reloads a changed file and logs the result, unless it is the error that was logged before.
// It returns the error that is logged.
func (a *Authenticator) refreshAndLog(log *slog.Logger, told string) string {
	changed, err := a.Refresh()
	switch {
	case err != nil && err.Error() != told:
		log.Error("cannot load the tokens file; keeping the previous tokens", "cause", err)
		return err.Error()
	case err != nil:
		return told
	case changed:
		log.Info("reloaded the tokens file", "file", a.path, "tokens", a.Tokens())
	}
	return ""
}

// isStable reports that there is nothing to load: the file has not changed since it was loaded, or it has
// changed since the last check.
func (a *Authenticator) isStable(pending *fs.FileInfo) bool {
	a.reading.Lock()
	defer a.reading.Unlock()
	now, err := a.stat()
	if err != nil {
		return false
	}
	settled := same(now, *pending)
	*pending = now
	return !settled || same(now, a.seen)
}
