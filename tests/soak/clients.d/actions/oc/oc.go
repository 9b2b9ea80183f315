// What OpenShift's command line asks beside kubectl's requests, with the library that it is built on. It prints a line
// `ACTION ok` or `ACTION FAILED` each.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	configv1client "github.com/openshift/client-go/config/clientset/versioned/typed/config/v1"
	machinev1beta1client "github.com/openshift/client-go/machine/clientset/versioned/typed/machine/v1beta1"
	poolv1client "github.com/openshift/client-go/machineconfiguration/clientset/versioned/typed/machineconfiguration/v1"
	projectv1client "github.com/openshift/client-go/project/clientset/versioned/typed/project/v1"
	userv1client "github.com/openshift/client-go/user/clientset/versioned/typed/user/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

const (
	// For one action.
	limit = 90 * time.Second
	// Of one page of a list.
	page     = 2
	table    = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	operator = "etcd"
)

type world struct {
	config               *rest.Config
	kube                 *kubernetes.Clientset
	openshift            configv1client.ConfigV1Interface
	projects             projectv1client.ProjectInterface
	namespace, pod, node string
}

func newWorld() (*world, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	openshift, projects := configv1client.NewForConfigOrDie(config), projectv1client.NewForConfigOrDie(config).Projects()
	return &world{config, kubernetes.NewForConfigOrDie(config), openshift, projects,
		os.Getenv("CLIENT_NAMESPACE"), os.Getenv("CLIENT_POD"), os.Getenv("CLIENT_NODE")}, nil
}

func (w *world) discovery(context.Context) error {
	_, lists, err := w.kube.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err
	}
	kinds := 0
	for _, list := range lists {
		if strings.Contains(list.GroupVersion, ".openshift.io/") {
			kinds += len(list.APIResources)
		}
	}
	// Kinds and the subresources of their status.
	return enough(kinds, 10)
}

// The review comes first; older versions begin with the user, and OpenShift without its own sign-in has none.
func (w *world) whoami(ctx context.Context) error {
	reviews := w.kube.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	user, err := userv1client.NewForConfigOrDie(w.config).Users().Get(ctx, "~", metav1.GetOptions{})
	switch {
	case err == nil && user.Name == "", review.Status.UserInfo.Username == "":
		return errors.New("nobody is named")
	case absent(err):
		return nil
	}
	return err
}

func (w *world) clusterVersion(ctx context.Context) error {
	version, err := w.openshift.ClusterVersions().Get(ctx, "version", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return same(version.Status.Desired.Version, "4.18.3")
}

func (w *world) clusterOperators(ctx context.Context) error {
	list, err := w.openshift.ClusterOperators().List(ctx, metav1.ListOptions{Limit: 500})
	is := func(each configv1.ClusterOperator) bool {
		return each.Name == operator && len(each.Status.Conditions) == 3
	}
	if err == nil && !slices.ContainsFunc(list.Items, is) {
		return fmt.Errorf("%d others", len(list.Items))
	}
	return err
}

func (w *world) machineConfigPools(ctx context.Context) error {
	list, err := poolv1client.NewForConfigOrDie(w.config).MachineConfigPools().List(ctx, metav1.ListOptions{Limit: 500})
	if err == nil && (len(list.Items) != 1 || list.Items[0].Status.ReadyMachineCount != 1) {
		return fmt.Errorf("%d pools, or none ready", len(list.Items))
	}
	return err
}

func (w *world) machines(ctx context.Context) error {
	machines := machinev1beta1client.NewForConfigOrDie(w.config).Machines("openshift-machine-api")
	list, err := machines.List(ctx, metav1.ListOptions{Limit: 500})
	if err == nil && (len(list.Items) != 1 || list.Items[0].Status.Phase == nil) {
		return fmt.Errorf("%d machines, or without a phase", len(list.Items))
	}
	return err
}

func (w *world) operators() *rest.Request {
	return w.openshift.RESTClient().Get().Resource("clusteroperators").SetHeader("Accept", table)
}

func (w *world) tableOf(ctx context.Context) (*metav1.Table, error) {
	var found metav1.Table
	raw, err := w.operators().Param("limit", "500").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(raw, &found)
	}
	return &found, err
}

func (w *world) table(ctx context.Context) error {
	found, err := w.tableOf(ctx)
	if err != nil {
		return err
	}
	said := found.Kind
	for _, column := range found.ColumnDefinitions {
		said += " " + column.Name
	}
	for _, row := range found.Rows {
		said += fmt.Sprint(" ", row.Cells[:2])
	}
	return same(said, "Table Name Version Available Progressing Degraded Since [dns 4.18.3] [etcd 4.18.3] [ingress 4.18.3]")
}

// As a table too, from where the list ended; a change makes it an event.
func (w *world) watch(ctx context.Context) error {
	list, err := w.tableOf(ctx)
	if err != nil {
		return err
	}
	stream, err := w.operators().Param("watch", "true").Param("resourceVersion", list.ResourceVersion).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	change := fmt.Appendf(nil, `{"metadata":{"annotations":{"changed-by":"%d"}}}`, os.Getpid())
	_, err = w.openshift.ClusterOperators().Patch(ctx, operator, types.MergePatchType, change, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	var event struct {
		Type   string
		Object metav1.Table
	}
	if err := json.NewDecoder(stream).Decode(&event); err != nil || len(event.Object.Rows) != 1 {
		return fmt.Errorf("%s with %d rows: %v", event.Type, len(event.Object.Rows), err)
	}
	return same(fmt.Sprint(event.Type, " ", event.Object.Rows[0].Cells[0]), "MODIFIED "+operator)
}

func (w *world) upgrade(ctx context.Context) error {
	return errors.Join(w.clusterVersion(ctx), w.clusterOperators(ctx))
}

// Where projects are not served or not allowed, namespaces stand for them.
func (w *world) project(ctx context.Context) error {
	_, err := w.projects.Get(ctx, w.namespace, metav1.GetOptions{})
	if absent(err) {
		_, err = w.kube.CoreV1().Namespaces().Get(ctx, w.namespace, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	if _, err = w.projects.List(ctx, metav1.ListOptions{}); absent(err) {
		_, err = w.kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	}
	return err
}

// They need admin rights; the grant has fewer.
func (w *world) nodeLogs(ctx context.Context) error {
	logs := w.kube.CoreV1().RESTClient().Get().Resource("nodes").Name(w.node).SubResource("proxy").Suffix("logs/")
	err := logs.Do(ctx).Error()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "admin rights") {
		return fmt.Errorf("no refusal that names the rights: %v", err)
	}
	return nil
}

func (w *world) debugNode(ctx context.Context) error {
	if _, err := w.kube.CoreV1().Nodes().Get(ctx, w.node, metav1.GetOptions{}); err != nil {
		return err
	}
	yes := true
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: w.node + "-debug", Namespace: w.namespace}}
	pod.Spec = corev1.PodSpec{
		NodeName: w.node, HostNetwork: true, HostPID: true, HostIPC: true, RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "container-00", Image: "registry.example/tools", Command: []string{"/bin/sh"},
			Stdin: true, StdinOnce: true, TTY: true,
			SecurityContext: &corev1.SecurityContext{Privileged: &yes},
			VolumeMounts:    []corev1.VolumeMount{{Name: "host", MountPath: "/host"}},
		}},
		Volumes: []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}},
	}
	pods := w.kube.CoreV1().Pods(w.namespace)
	made, err := pods.Create(ctx, &pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	if _, err := pods.Get(ctx, pod.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return errors.Join(errors.New("the pod is there after a dry run"), err)
	}
	return same(made.Spec.NodeName, w.node)
}

// A shell at a terminal, told its size, that ends with a status.
func (w *world) rsh(ctx context.Context) error {
	options := corev1.PodExecOptions{Command: []string{"/bin/sh", "-c", `TERM="xterm" /bin/sh`}, Stdin: true, Stdout: true, TTY: true}
	post := w.kube.CoreV1().RESTClient().Post().Resource("pods").Namespace(w.namespace).Name(w.pod).SubResource("exec")
	at := post.VersionedParams(&options, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(w.config, http.MethodGet, at.String())
	if err != nil {
		return err
	}
	var said strings.Builder
	sizes := make(size, 1)
	sizes <- remotecommand.TerminalSize{Width: 132, Height: 43}
	close(sizes)
	input := strings.NewReader("test -t 0 && echo at-a-$((40 + 2))-terminal\nexit 7\n")
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: &said, Tty: true, TerminalSizeQueue: sizes})
	var exit exec.CodeExitError
	if !errors.As(err, &exit) || exit.Code != 7 || !strings.Contains(said.String(), "at-a-42-terminal") {
		return fmt.Errorf("%q and %v", said.String(), err)
	}
	return nil
}

type size chan remotecommand.TerminalSize

func (s size) Next() *remotecommand.TerminalSize {
	next, ok := <-s
	if !ok {
		return nil
	}
	return &next
}

// Where the cluster signs nobody in, and for those who are not signed in yet, the status says so; no page for browsers.
func (w *world) login(ctx context.Context) error {
	return errors.Join(probed(ctx, w.config, http.StatusForbidden, http.StatusNotFound, http.StatusOK),
		probed(ctx, rest.AnonymousClientConfig(w.config), http.StatusUnauthorized))
}

func probed(ctx context.Context, config *rest.Config, handled ...int) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	at := strings.TrimSuffix(config.Host, "/") + "/.well-known/oauth-authorization-server"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-CSRF-Token", "1")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	kind := answer.Header.Get("Content-Type")
	if err != nil || !slices.Contains(handled, answer.StatusCode) || strings.Contains(kind, "html") {
		return fmt.Errorf("%s, %s: %.300q, %v", answer.Status, kind, body, err)
	}
	return nil
}

// Lists of many kinds in pages have the objects of the same lists in one piece.
func (w *world) mustGather(ctx context.Context) error {
	more := 0
	for _, kind := range strings.Fields("nodes.v1. namespaces.v1. pods.v1. services.v1. configmaps.v1. events.v1. " +
		"deployments.v1.apps daemonsets.v1.apps clusterroles.v1.rbac.authorization.k8s.io " +
		"clusterrolebindings.v1.rbac.authorization.k8s.io customresourcedefinitions.v1.apiextensions.k8s.io " +
		"clusterversions.v1.config.openshift.io clusteroperators.v1.config.openshift.io " +
		"networks.v1.config.openshift.io machines.v1beta1.machine.openshift.io " +
		"machineconfigpools.v1.machineconfiguration.openshift.io") {
		resource, _ := schema.ParseResourceArg(kind)
		pages, err := w.pages(ctx, *resource)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if pages > 1 {
			more++
		}
	}
	return enough(more, 5)
}

func (w *world) pages(ctx context.Context, resource schema.GroupVersionResource) (int, error) {
	lister := dynamic.NewForConfigOrDie(w.config).Resource(resource)
	whole, err := lister.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	options, found := metav1.ListOptions{Limit: page}, 0
	for pages := 1; ; pages++ {
		list, err := lister.List(ctx, options)
		if err != nil {
			return 0, err
		}
		found += len(list.Items)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return pages, same(fmt.Sprint(found), fmt.Sprint(len(whole.Items)))
		}
	}
}

func absent(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
}

func enough(is, least int) error {
	if is < least {
		return fmt.Errorf("%d, which is fewer than %d", is, least)
	}
	return nil
}

func same(is, shouldBe string) error {
	if is != shouldBe {
		return fmt.Errorf("%q instead of %q", is, shouldBe)
	}
	return nil
}

func main() {
	w, err := newWorld()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, each := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"discovery", w.discovery},
		{"whoami", w.whoami},
		{"get-clusterversion", w.clusterVersion},
		{"get-clusteroperators", w.clusterOperators},
		{"get-machineconfigpools", w.machineConfigPools},
		{"get-machines", w.machines},
		{"table", w.table},
		{"watch", w.watch},
		{"adm-upgrade", w.upgrade},
		{"project", w.project},
		{"node-logs-refused", w.nodeLogs},
		{"debug-node", w.debugNode},
		{"rsh", w.rsh},
		{"login", w.login},
		{"must-gather", w.mustGather},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		result := "ok"
		if err := each.do(ctx); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", each.name, err)
			result = "FAILED"
		}
		cancel()
		fmt.Println(each.name, result)
	}
}
