// The peer that benchmarks compare with: what Go's standard library does as a plain TLS to TLS reverse proxy, with
// HTTP/2 on both sides where the other end offers it.
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
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address and port")
	cert := flag.String("cert", "", "certificate file (PEM)")
	key := flag.String("key", "", "key file (PEM)")
	upstream := flag.String("upstream", "", "https URL of the far side")
	upstreamCA := flag.String("upstream-ca", "", "file with the CA of the far side (PEM)")
	http2 := flag.Bool("http2", true, "offer HTTP/2 to clients and use it to the far side")
	idle := flag.Int("idle-connections", 256, "idle connections kept to the far side")
	flag.Parse()
	if err := serve(*listen, *cert, *key, *upstream, *upstreamCA, *http2, *idle); err != nil {
		fmt.Fprintln(os.Stderr, "reverseproxy:", err)
		os.Exit(1)
	}
}

func serve(listen, cert, key, upstream, upstreamCA string, http2 bool, idle int) error {
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
	protocols.SetHTTP2(http2)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: roots},
			Protocols:           protocols,
			MaxIdleConns:        idle,
			MaxIdleConnsPerHost: idle,
		},
	}
	fmt.Printf("{\"listen\":%q}\n", listener.Addr())
	return (&http.Server{Handler: proxy, Protocols: protocols}).ServeTLS(listener, cert, key)
}
