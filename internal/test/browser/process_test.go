package browser

import (
	"image"
	"image/png"
	"os"
	"testing"
)

// pngSize returns the size of an image.
func pngSize(t *testing.T, file string) image.Point {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	config, err := png.DecodeConfig(f)
	if err != nil {
		t.Fatal(err)
	}
	return image.Pt(config.Width, config.Height)
}
