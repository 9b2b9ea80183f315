// A kubelet stand-in: the node side of kubectl exec, attach, cp, logs and port-forward.
//
// It serves the paths that kube-apiserver calls on a node, with the streaming library of the real kubelet, and runs
// commands on this machine. It registers no Node and watches no Pod: kwok does, with --node-port set to this server.
// It asks nobody for a credential, so it must listen on a loopback address.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "loopback address and port")
	cert := flag.String("cert", "", "certificate file (PEM)")
	key := flag.String("key", "", "key file (PEM)")
	root := flag.String("root", "", "folder with NAMESPACE/POD/CONTAINER/ (working folder) and NAMESPACE/POD/CONTAINER.log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := serve(ctx, *listen, *cert, *key, *root); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, listen, cert, key, root string) error {
	if root == "" {
		return errors.New("--root is missing")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return fmt.Errorf("%s is not a loopback address", listener.Addr())
	}
	node := &node{root: root, life: ctx}
	server := &http.Server{Handler: told(node.routes()), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Printf("{\"listen\":%q}\n", listener.Addr())
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// told writes a line for every request, so that a test sees what reached the node and what did not.
func told(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("{\"request\":%q}\n", r.Method+" "+r.RequestURI)
		next.ServeHTTP(w, r)
	})
}

// node is every node of the cluster at once: requests name the pod, never the node.
type node struct {
	root string
	life context.Context
}

func (n *node) routes() http.Handler {
	mux := http.NewServeMux()
	for _, uid := range []string{"", "{uid}/"} {
		mux.HandleFunc("/exec/{namespace}/{pod}/"+uid+"{container}", n.exec)
		mux.HandleFunc("/attach/{namespace}/{pod}/"+uid+"{container}", n.attach)
	}
	mux.HandleFunc("/portForward/{namespace}/{pod}", n.portForward)
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", n.portForward)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", n.logs)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	return mux
}

func (n *node) exec(w http.ResponseWriter, r *http.Request) {
	if opts, ok := streamOptions(w, r); ok {
		remotecommand.ServeExec(w, r, n, n.folder(r), "", r.PathValue("container"), r.Form["command"], opts,
			streaming.DefaultConfig.StreamIdleTimeout, streaming.DefaultConfig.StreamCreationTimeout,
			remotecommand.SupportedStreamingProtocols)
	}
}

func (n *node) attach(w http.ResponseWriter, r *http.Request) {
	if opts, ok := streamOptions(w, r); ok {
		remotecommand.ServeAttach(w, r, n, n.folder(r), "", r.PathValue("container"), opts,
			streaming.DefaultConfig.StreamIdleTimeout, streaming.DefaultConfig.StreamCreationTimeout,
			remotecommand.SupportedStreamingProtocols)
	}
}

func (n *node) portForward(w http.ResponseWriter, r *http.Request) {
	opts, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, n, n.folder(r), "", opts, streaming.DefaultConfig.StreamIdleTimeout,
		streaming.DefaultConfig.StreamCreationTimeout, portforward.SupportedProtocols)
}

// folder is where the pod's files lie. The API server has checked both names: neither can hold a slash or be "..".
func (n *node) folder(r *http.Request) string {
	return filepath.Join(n.root, r.PathValue("namespace"), r.PathValue("pod"))
}

// streamOptions reads what the API server asks for; it spells the switches input, output and error.
func streamOptions(w http.ResponseWriter, r *http.Request) (*remotecommand.Options, bool) {
	opts, err := remotecommand.NewOptions(r)
	if err == nil {
		err = r.ParseForm()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, false
	}
	return opts, true
}

// PortForward joins the stream with a port of this machine: the one that the pod's file ports/PORT names, so that many
// pods can have the same port, or the port itself.
func (n *node) PortForward(ctx context.Context, folder, _ string, port int32, stream io.ReadWriteCloser) error {
	there := strconv.Itoa(int(port))
	if told, err := os.ReadFile(filepath.Join(folder, "ports", there)); err == nil {
		there = strings.TrimSpace(string(told))
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", there))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(n.life, func() { conn.Close() })()
	go func() {
		io.Copy(conn, stream)
		conn.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	return err
}
