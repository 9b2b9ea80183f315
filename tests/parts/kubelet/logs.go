package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// How often a followed file is looked at.
const followInterval = 20 * time.Millisecond

// logs serves CONTAINER.log as it is. A file that is not there reads as empty. Following ends when the file is removed.
func (n *node) logs(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for _, name := range []string{"timestamps", "previous", "sinceSeconds", "sinceTime"} {
		if value := query.Get(name); value != "" && value != "false" {
			http.Error(w, name+" is not supported by this kubelet stand-in", http.StatusBadRequest)
			return
		}
	}
	tail, err := optionalNumber(query, "tailLines")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	limit, err := optionalNumber(query, "limitBytes")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := filepath.Join(n.folder(r), r.PathValue("container")+".log")
	w.Header().Set("Content-Type", "text/plain")
	out := io.Writer(flusher{w, http.NewResponseController(w)})
	if limit >= 0 {
		out = &limited{out, limit}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(n.life, cancel)()
	if err := stream(ctx, path, out, tail, query.Get("follow") == "true"); err != nil && !errors.Is(err, errLimit) {
		panic(http.ErrAbortHandler) // the status is sent: cut the response, so that the reader sees it is not whole
	}
}

func optionalNumber(query url.Values, name string) (int64, error) {
	if !query.Has(name) {
		return -1, nil
	}
	return strconv.ParseInt(query.Get(name), 10, 64)
}

func stream(ctx context.Context, path string, out io.Writer, tail int64, keepOn bool) error {
	if tail < 0 {
		return follow(ctx, path, out, keepOn)
	}
	whole, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := out.Write(lastLines(whole, tail)); err != nil || !keepOn {
		return err
	}
	return followFrom(ctx, path, int64(len(whole)), out, true)
}

func lastLines(text []byte, count int64) []byte {
	end := len(bytes.TrimSuffix(text, []byte("\n")))
	for start := end; count > 0; count-- {
		if start = bytes.LastIndexByte(text[:start], '\n'); start < 0 {
			return text
		}
		if count == 1 {
			return text[start+1:]
		}
	}
	return nil
}

func follow(ctx context.Context, path string, out io.Writer, keepOn bool) error {
	return followFrom(ctx, path, 0, out, keepOn)
}

// followFrom copies the file from an offset, then, if keepOn, what is added to it, until it is removed.
func followFrom(ctx context.Context, path string, offset int64, out io.Writer, keepOn bool) error {
	var file *os.File
	defer func() { file.Close() }()
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		removed := false
		if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			removed = file != nil || !keepOn
		} else if err != nil {
			return err
		} else if file == nil && info.Mode().IsRegular() {
			if file, err = os.Open(path); err != nil {
				return err
			}
			if _, err = file.Seek(offset, io.SeekStart); err != nil {
				return err
			}
		}
		if file != nil {
			if _, err := io.Copy(out, file); err != nil {
				return err
			}
		}
		if removed || !keepOn {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// flusher sends every line on at once.
type flusher struct {
	io.Writer
	response *http.ResponseController
}

func (f flusher) Write(bytes []byte) (int, error) {
	count, err := f.Writer.Write(bytes)
	if err != nil {
		return count, err
	}
	return count, f.response.Flush()
}

var errLimit = errors.New("limitBytes reached")

type limited struct {
	io.Writer
	left int64
}

func (l *limited) Write(bytes []byte) (int, error) {
	part := bytes[:min(int64(len(bytes)), l.left)]
	count, err := l.Writer.Write(part)
	l.left -= int64(count)
	if err == nil && l.left == 0 {
		err = errLimit
	}
	return count, err
}
