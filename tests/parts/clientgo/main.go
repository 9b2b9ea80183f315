// The peer that the monitor's benchmark compares with: client-go reads the same objects of the same clusters into its
// types, with clients that are kept from look to look and without its limit of requests. It computes nothing from them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

const (
	parallel = 5
	page     = "500"
)

// A read of one object or list.
type read struct {
	path  string
	paged bool
	into  func() runtime.Object
}

var kinds = map[string][2]func() runtime.Object{
	"pods":               {func() runtime.Object { return &corev1.Pod{} }, func() runtime.Object { return &corev1.PodList{} }},
	"nodes":              {func() runtime.Object { return &corev1.Node{} }, func() runtime.Object { return &corev1.NodeList{} }},
	"secrets":            {func() runtime.Object { return &corev1.Secret{} }, func() runtime.Object { return &corev1.SecretList{} }},
	"services":           {func() runtime.Object { return &corev1.Service{} }, func() runtime.Object { return &corev1.ServiceList{} }},
	"deployments":        {func() runtime.Object { return &appsv1.Deployment{} }, func() runtime.Object { return &appsv1.DeploymentList{} }},
	"daemonsets":         {func() runtime.Object { return &appsv1.DaemonSet{} }, func() runtime.Object { return &appsv1.DaemonSetList{} }},
	"clusterversions":    {func() runtime.Object { return &configv1.ClusterVersion{} }, func() runtime.Object { return &configv1.ClusterVersionList{} }},
	"clusteroperators":   {func() runtime.Object { return &configv1.ClusterOperator{} }, func() runtime.Object { return &configv1.ClusterOperatorList{} }},
	"networks":           {func() runtime.Object { return &configv1.Network{} }, func() runtime.Object { return &configv1.NetworkList{} }},
	"proxies":            {func() runtime.Object { return &configv1.Proxy{} }, func() runtime.Object { return &configv1.ProxyList{} }},
	"infrastructures":    {func() runtime.Object { return &configv1.Infrastructure{} }, func() runtime.Object { return &configv1.InfrastructureList{} }},
	"dnses":              {func() runtime.Object { return &operatorv1.DNS{} }, func() runtime.Object { return &operatorv1.DNSList{} }},
	"ingresscontrollers": {func() runtime.Object { return &operatorv1.IngressController{} }, func() runtime.Object { return &operatorv1.IngressControllerList{} }},
	"machines":           {func() runtime.Object { return &machinev1beta1.Machine{} }, func() runtime.Object { return &machinev1beta1.MachineList{} }},
	"machinesets":        {func() runtime.Object { return &machinev1beta1.MachineSet{} }, func() runtime.Object { return &machinev1beta1.MachineSetList{} }},
	"machineconfigpools": {func() runtime.Object { return &mcfgv1.MachineConfigPool{} }, func() runtime.Object { return &mcfgv1.MachineConfigPoolList{} }},
}

func readOf(line string) read {
	path, query, _ := strings.Cut(line, "?")
	paged := strings.Contains(query, "limit=")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	last, before := parts[len(parts)-1], ""
	if len(parts) > 1 {
		before = parts[len(parts)-2]
	}
	if of, ok := kinds[last]; ok {
		return read{path, paged, of[1]}
	}
	if of, ok := kinds[before]; ok {
		return read{path, paged, of[0]}
	}
	if strings.HasPrefix(path, "/apis/") {
		return read{path, paged, func() runtime.Object { return &unstructured.Unstructured{} }}
	}
	return read{path, paged, nil}
}

type options struct {
	url, ca, token string
	gzip           bool
}

func client(options options, codecs serializer.CodecFactory, cluster int) (*rest.RESTClient, error) {
	return rest.UnversionedRESTClientFor(&rest.Config{
		Host:               fmt.Sprintf("%s/c/%d", options.url, cluster),
		BearerToken:        options.token,
		TLSClientConfig:    rest.TLSClientConfig{CAFile: options.ca, ServerName: "localhost"},
		QPS:                -1,
		DisableCompression: !options.gzip,
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &schema.GroupVersion{},
			NegotiatedSerializer: codecs.WithoutConversion(),
		},
	})
}

// One look: at most five reads at once, as the contract says. Lists are read to their end.
func look(client *rest.RESTClient, reads []read) (missing int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	work := make(chan read)
	var group sync.WaitGroup
	var lock sync.Mutex
	for range parallel {
		group.Go(func() {
			for one := range work {
				err2 := fetch(ctx, client, one)
				if err2 != nil {
					lock.Lock()
					if strings.Contains(err2.Error(), "could not find") {
						missing++
					} else {
						err = err2
					}
					lock.Unlock()
				}
			}
		})
	}
	for _, one := range reads {
		work <- one
	}
	close(work)
	group.Wait()
	return missing, err
}

func fetch(ctx context.Context, client *rest.RESTClient, one read) error {
	if one.into == nil {
		return client.Get().AbsPath(one.path).Do(ctx).Error()
	}
	from := ""
	for {
		request := client.Get().AbsPath(one.path)
		if one.paged {
			request = request.Param("limit", page)
		}
		if from != "" {
			request = request.Param("continue", from)
		}
		object := one.into()
		if err := request.Do(ctx).Into(object); err != nil {
			return err
		}
		list, ok := object.(metav1.ListInterface)
		if !ok || !one.paged || list.GetContinue() == "" {
			return nil
		}
		from = list.GetContinue()
	}
}

func main() {
	var of options
	flag.StringVar(&of.url, "url", "", "https URL of the far side")
	flag.StringVar(&of.ca, "ca", "", "file with the CA of the far side (PEM)")
	flag.StringVar(&of.token, "token", "", "bearer token")
	flag.BoolVar(&of.gzip, "gzip", true, "ask for compressed answers, as client-go does by itself")
	paths := flag.String("paths", "", "file with the paths to read, one a line")
	clusters := flag.Int("clusters", 50, "clusters")
	looks := flag.Int("looks", 200, "looks that are counted, after one at each cluster")
	flag.Parse()
	if err := run(of, *paths, *clusters, *looks); err != nil {
		fmt.Fprintln(os.Stderr, "clientgo:", err)
		os.Exit(1)
	}
}

func run(of options, paths string, clusters, looks int) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, configv1.AddToScheme, machinev1beta1.AddToScheme, mcfgv1.AddToScheme, operatorv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	codecs := serializer.NewCodecFactory(scheme)
	file, err := os.Open(paths)
	if err != nil {
		return err
	}
	defer file.Close()
	var reads []read
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		reads = append(reads, readOf(scanner.Text()))
	}
	clients := make([]*rest.RESTClient, clusters)
	for n := range clients {
		if clients[n], err = client(of, codecs, n); err != nil {
			return err
		}
	}
	missing := 0
	for _, client := range clients {
		if missing, err = look(client, reads); err != nil {
			return err
		}
	}
	before, began := cpu(), time.Now()
	for n := range looks {
		if _, err := look(clients[n%clusters], reads); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"looks": looks, "reads": len(reads), "missing": missing,
		"cpu_seconds": cpu() - before, "seconds": time.Since(began).Seconds(),
	})
}

func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	of := func(time syscall.Timeval) float64 { return float64(time.Sec) + float64(time.Usec)/1e6 }
	return of(usage.Utime) + of(usage.Stime)
}
