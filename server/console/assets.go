package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"sync"
	"time"
)

//go:embed assets
var assets embed.FS

//go:embed templates
var templates embed.FS

// assetHash is the hash of all assets, which is a part of their address.
var assetHash = sync.OnceValue(func() string {
	sum := sha256.New()
	_ = fs.WalkDir(assets, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			text, _ := assets.ReadFile(name) // embedded
			sum.Write([]byte(name))
			sum.Write(text)
		}
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:12]
})

// asset sends a file. Below the hash of this program it never changes; another hash, as in a rolling upgrade, gets the
// file of this program, which browsers must not keep.
func (c *Console) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	text, err := assets.ReadFile("assets/" + name)
	kind := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) {
	case ".woff2":
		kind = "font/woff2"
	case ".css", ".js", ".svg":
	default:
		err = fs.ErrNotExist
	}
	if err != nil {
		http.Error(w, "The console has no such file.", http.StatusNotFound)
		return
	}
	if r.PathValue("hash") == assetHash() {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.Header().Del("Vary")
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}
