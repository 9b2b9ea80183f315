// The peer that benchmarks compare with: what Go's standard library does as a plain TLS to TLS reverse proxy, with
// HTTP/2 on both sides where the other end offers it. With options: HTTP/1.1 on both sides, buffers that are used again, and
// a line of log for each request.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address and port")
	cert := flag.String("cert", "", "certificate file (PEM)")
	key := flag.String("key", "", "key file (PEM)")
	upstream := flag.String("upstream", "", "https URL of the far side")
	upstreamCA := flag.String("upstream-ca", "", "file with the CA of the far side (PEM)")
	http2 := flag.Bool("http2", true, "offer HTTP/2 to clients and use it to the far side")
	idle := flag.Int("idle-connections", 256, "idle connections kept to the far side")
	keepBuffers := flag.Bool("keep-buffers", false, "use the buffers of bodies again")
	accessLog := flag.String("access-log", "", "file that gets a line for each request")
	flag.Parse()
	options := options{http2: *http2, idle: *idle, keepBuffers: *keepBuffers, accessLog: *accessLog}
	if err := serve(*listen, *cert, *key, *upstream, *upstreamCA, options); err != nil {
		fmt.Fprintln(os.Stderr, "reverseproxy:", err)
		os.Exit(1)
	}
}

type options struct {
	http2       bool
	idle        int
	keepBuffers bool
	accessLog   string
}

func serve(listen, cert, key, upstream, upstreamCA string, options options) error {
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	if target.Scheme != "https" || target.Host == "" {
		return fmt.Errorf("--upstream %q is not an https URL", upstream)
	}
	pem, err := os.ReadFile(upstreamCA)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("no certificate in --upstream-ca")
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(options.http2)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: roots},
			Protocols:           protocols,
			MaxIdleConns:        options.idle,
			MaxIdleConnsPerHost: options.idle,
		},
	}
	if options.keepBuffers {
		proxy.BufferPool = &buffers{}
	}
	var handler http.Handler = proxy
	if options.accessLog != "" {
		file, err := os.OpenFile(options.accessLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		handler = logged(proxy, file)
	}
	fmt.Printf("{\"listen\":%q}\n", listener.Addr())
	return (&http.Server{Handler: handler, Protocols: protocols}).ServeTLS(listener, cert, key)
}

// buffers keeps the 32 KiB that a body is copied through.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if kept, ok := b.pool.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

// answer remembers what is logged of an answer.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(data []byte) (int, error) {
	written, err := a.ResponseWriter.Write(data)
	a.bytes += int64(written)
	return written, err
}

// Unwrap leads to what flushes and what upgrades.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// logged writes the combined format of nginx and Apache, one write for each request.
func logged(next http.Handler, file *os.File) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &answer{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		line := fmt.Sprintf("%s - - [%s] \"%s %s %s\" %d %d %q %q\n", host, time.Now().Format("02/Jan/2006:15:04:05 -0700"),
			r.Method, r.RequestURI, r.Proto, seen.status, seen.bytes, r.Referer(), r.UserAgent())
		if _, err := file.WriteString(line); err != nil {
			fmt.Fprintln(os.Stderr, "reverseproxy:", err)
		}
	})
}
