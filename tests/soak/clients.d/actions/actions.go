// What a program with client-go does. It prints a line `ACTION ok` or `ACTION FAILED` each.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// For one action.
const limit = 90 * time.Second

type world struct {
	config    *rest.Config
	client    *kubernetes.Clientset
	pods      typedcorev1.PodInterface
	maps      typedcorev1.ConfigMapInterface
	namespace string
	pod       string
	// A name of our own: versions run one after the other on the same cluster.
	object string
}

func newWorld() (*world, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespace := os.Getenv("CLIENT_NAMESPACE")
	core := client.CoreV1()
	return &world{config, client, core.Pods(namespace), core.ConfigMaps(namespace), namespace, os.Getenv("CLIENT_POD"),
		fmt.Sprintf("of-a-client-%d", os.Getpid())}, nil
}

func (w *world) get(ctx context.Context) error {
	pod, err := w.pods.Get(ctx, w.pod, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return same(pod.Name, w.pod)
}

func (w *world) list(ctx context.Context) error {
	return w.listWith(ctx, w.pods)
}

// Lists in the binary encoding that controllers of Kubernetes ask for.
func (w *world) listProtobuf(ctx context.Context) error {
	config := rest.CopyConfig(w.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return w.listWith(ctx, client.CoreV1().Pods(w.namespace))
}

func (w *world) listWith(ctx context.Context, pods typedcorev1.PodInterface) error {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		if pod.Name == w.pod {
			return nil
		}
	}
	return fmt.Errorf("%d other pods", len(list.Items))
}

func (w *world) watch(ctx context.Context) error {
	seconds := int64(10)
	watch, err := w.pods.Watch(ctx, metav1.ListOptions{TimeoutSeconds: &seconds})
	if err != nil {
		return err
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && pod.Name == w.pod {
			return nil
		}
	}
	return errors.New("it ended")
}

func (w *world) informer(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace))
	lister := factory.Core().V1().Pods().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	_, err := lister.Pods(w.namespace).Get(w.pod)
	return err
}

func (w *world) logs(ctx context.Context) error {
	lines := int64(5)
	return w.pods.GetLogs(w.pod, &corev1.PodLogOptions{TailLines: &lines}).Do(ctx).Error()
}

// The log goes on; its last line comes at once.
func (w *world) logsFollow(ctx context.Context) error {
	lines := int64(1)
	stream, err := w.pods.GetLogs(w.pod, &corev1.PodLogOptions{TailLines: &lines, Follow: true}).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	_, err = bufio.NewReader(stream).ReadString('\n')
	return err
}

func (w *world) create(value string, how metav1.CreateOptions) action {
	return func(ctx context.Context) error {
		object := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: w.object}, Data: map[string]string{"key": value}}
		made, err := w.maps.Create(ctx, &object, how)
		return has(made, err, value)
	}
}

func (w *world) apply(ctx context.Context) error {
	object := applycorev1.ConfigMap(w.object, w.namespace).WithData(map[string]string{"key": "applied"})
	made, err := w.maps.Apply(ctx, object, metav1.ApplyOptions{FieldManager: "a-client", Force: true})
	return has(made, err, "applied")
}

func (w *world) patch(ctx context.Context) error {
	patch := []byte(`{"data":{"key":"patched"}}`)
	made, err := w.maps.Patch(ctx, w.object, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return has(made, err, "patched")
}

func (w *world) delete(ctx context.Context) error {
	if err := w.maps.Delete(ctx, w.object, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if _, err := w.maps.Get(ctx, w.object, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return errors.Join(errors.New("it is still there"), err)
	}
	return nil
}

func has(object *corev1.ConfigMap, err error, value string) error {
	if err != nil {
		return err
	}
	return same(object.Data["key"], value)
}

func same(is, shouldBe string) error {
	if is != shouldBe {
		return fmt.Errorf("%q instead of %q", is, shouldBe)
	}
	return nil
}

type action = func(context.Context) error

// attempt does not wait for an action that hangs in spite of its context.
func attempt(name string, action action) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- action(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-time.After(limit + 5*time.Second):
		err = errors.New("not in time")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		fmt.Println(name, "FAILED")
		return
	}
	fmt.Println(name, "ok")
}

func main() {
	w, err := newWorld()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	attempt("get", w.get)
	attempt("list", w.list)
	attempt("list-protobuf", w.listProtobuf)
	attempt("watch", w.watch)
	attempt("informer", w.informer)
	attempt("logs", w.logs)
	attempt("logs-follow", w.logsFollow)
	attempt("exec", w.exec(overWebSocket))
	attempt("exec-spdy", w.exec(overSPDY))
	attempt("exec-status", w.execStatus(overWebSocket))
	attempt("exec-status-spdy", w.execStatus(overSPDY))
	attempt("exec-stdin", w.execStdin(overWebSocket))
	attempt("exec-stdin-spdy", w.execStdin(overSPDY))
	attempt("port-forward", w.portForward(tunnelled))
	attempt("port-forward-spdy", w.portForward(plain))
	attempt("apply-dry-run", w.create("value", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
	attempt("create", w.create("created", metav1.CreateOptions{}))
	attempt("apply", w.apply)
	attempt("patch", w.patch)
	attempt("delete", w.delete)
}
