// Commands and ports of a pod, over WebSocket and over SPDY.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
)

type executors func(*rest.Config, *url.URL) (remotecommand.Executor, error)

func overWebSocket(config *rest.Config, at *url.URL) (remotecommand.Executor, error) {
	return remotecommand.NewWebSocketExecutor(config, http.MethodGet, at.String())
}

func overSPDY(config *rest.Config, at *url.URL) (remotecommand.Executor, error) {
	return remotecommand.NewSPDYExecutor(config, http.MethodPost, at)
}

func (w *world) exec(over executors) action {
	return func(ctx context.Context) error {
		said, err := w.ran(ctx, over, nil, "echo", "from-the-container")
		if err != nil {
			return err
		}
		return same(strings.TrimSpace(said), "from-the-container")
	}
}

func (w *world) execStatus(over executors) action {
	return func(ctx context.Context) error {
		_, err := w.ran(ctx, over, nil, "sh", "-c", "exit 7")
		var exit exec.CodeExitError
		if !errors.As(err, &exit) {
			return fmt.Errorf("no exit code, but %w", errors.Join(errors.New("an end"), err))
		}
		return same(fmt.Sprint(exit.Code), "7")
	}
}

// The command sees the end of its input when ours has ended.
func (w *world) execStdin(over executors) action {
	return func(ctx context.Context) error {
		said, err := w.ran(ctx, over, strings.NewReader("to-the-container"), "cat")
		if err != nil {
			return err
		}
		return same(said, "to-the-container")
	}
}

func (w *world) ran(ctx context.Context, over executors, stdin io.Reader, command ...string) (string, error) {
	options := corev1.PodExecOptions{Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}
	executor, err := over(w.config, w.inPod("exec").VersionedParams(&options, scheme.ParameterCodec).URL())
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: &stdout, Stderr: &stderr})
	return stdout.String(), err
}

func (w *world) inPod(what string) *rest.Request {
	return w.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(w.namespace).Name(w.pod).SubResource(what)
}

type dialers func(*rest.Config, *url.URL) (httpstream.Dialer, error)

func tunnelled(config *rest.Config, at *url.URL) (httpstream.Dialer, error) {
	return portforward.NewSPDYOverWebsocketDialer(at, config)
}

func plain(config *rest.Config, at *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	return spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, at), nil
}

func (w *world) portForward(over dialers) action {
	return func(ctx context.Context) error {
		dialer, err := over(w.config, w.inPod("portforward").URL())
		if err != nil {
			return err
		}
		ready := make(chan struct{})
		ports := []string{":" + os.Getenv("CLIENT_PORT")}
		forward, err := portforward.New(dialer, ports, ctx.Done(), ready, io.Discard, os.Stderr)
		if err != nil {
			return err
		}
		defer forward.Close()
		ended := make(chan error, 1)
		go func() { ended <- forward.ForwardPorts() }()
		select {
		case err := <-ended:
			return errors.Join(errors.New("it ended"), err)
		case <-ready:
		}
		forwarded, err := forward.GetPorts()
		if err != nil {
			return err
		}
		return asked(ctx, fmt.Sprintf("http://127.0.0.1:%d/", forwarded[0].Local))
	}
}

// asked gets the page of the pod.
func asked(ctx context.Context, at string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return same(string(said), os.Getenv("CLIENT_PORT_SAYS"))
}
