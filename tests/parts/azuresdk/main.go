// Every operation of the published Go client against our API.
//
// Argument: a JSON object {url, ca, id, body, other, location, steps}: where the API is, the PEM file of its authority, a
// cluster's resource id, a body that makes it, a subscription with several pages of clusters, our region, and what to do.
// Prints one JSON object of what was seen; the exit status is 1 after any deviation.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	aro "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/redhatopenshift/armredhatopenshift"
)

type told struct {
	URL, CA, ID, Other, Location string
	Body                         aro.OpenShiftCluster
	Steps                        []string
}

type world struct {
	told
	subscription, group, name string
	options                   *arm.ClientOptions
}

// A credential: the API under test takes every caller.
type somebody struct{}

func (somebody) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "a-token-of-nobody", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func main() {
	ctx, end := context.WithTimeout(context.Background(), 14*time.Minute)
	defer end()
	seen, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(seen)
}

func run(ctx context.Context) (map[string]any, error) {
	var w world
	if err := json.Unmarshal([]byte(os.Args[1]), &w.told); err != nil {
		return nil, err
	}
	parts := strings.Split(w.ID, "/")
	w.subscription, w.group, w.name = parts[2], parts[4], parts[8]
	pem, err := os.ReadFile(w.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	here := cloud.ServiceConfiguration{Audience: w.URL, Endpoint: w.URL}
	w.options = &arm.ClientOptions{
		DisableRPRegistration: true,
		ClientOptions: policy.ClientOptions{
			Cloud: cloud.Configuration{
				ActiveDirectoryAuthorityHost: w.URL,
				Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: here},
			},
			Transport: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}},
		},
	}
	steps := map[string]func(context.Context, *world, map[string]any) error{
		"create": create, "reads": reads, "refused": refused, "update": update, "delete": remove,
	}
	seen := map[string]any{}
	for _, step := range w.Steps {
		if err := steps[step](ctx, &w, seen); err != nil {
			return nil, fmt.Errorf("%s: %w", step, err)
		}
		fmt.Fprintln(os.Stderr, step)
	}
	return seen, nil
}

func (w *world) clusters(subscription string) *aro.OpenShiftClustersClient {
	client, err := aro.NewOpenShiftClustersClient(subscription, somebody{}, w.options)
	if err != nil {
		panic(err)
	}
	return client
}

func create(ctx context.Context, w *world, _ map[string]any) error {
	poller, err := w.clusters(w.subscription).BeginCreateOrUpdate(ctx, w.group, w.name, w.Body, nil)
	if err != nil {
		return err
	}
	made, err := poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: time.Second})
	if err != nil {
		return err
	}
	return succeeded(made.OpenShiftCluster)
}

func succeeded(cluster aro.OpenShiftCluster) error {
	state := cluster.Properties.ProvisioningState
	if state == nil || *state != aro.ProvisioningStateSucceeded {
		return fmt.Errorf("the cluster is %v", state)
	}
	return nil
}

// Whatever does not change anything.
func reads(ctx context.Context, w *world, seen map[string]any) error {
	operations, err := aro.NewOperationsClient(somebody{}, w.options)
	if err != nil {
		return err
	}
	names := []string{}
	for pager := operations.NewListPager(nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, one := range page.Value {
			names = append(names, *one.Name)
		}
	}
	if !contains(names, "Microsoft.RedHatOpenShift/openShiftClusters/write") {
		return fmt.Errorf("operations: %v", names)
	}
	versions, err := aro.NewOpenShiftVersionsClient(w.subscription, somebody{}, w.options)
	if err != nil {
		return err
	}
	offered := 0
	for pager := versions.NewListPager(w.Location, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return err
		}
		offered += len(page.Value)
	}
	if offered == 0 {
		return errors.New("no version is offered")
	}
	client := w.clusters(w.subscription)
	here, grouped := []string{}, []string{}
	for pager := client.NewListPager(nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return err
		}
		here = append(here, ids(page.Value)...)
	}
	for pager := client.NewListByResourceGroupPager(w.group, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return err
		}
		grouped = append(grouped, ids(page.Value)...)
	}
	if id := strings.ToLower(w.ID); !contains(here, id) || !contains(grouped, id) {
		return fmt.Errorf("the cluster is not listed: %v, %v", here, grouped)
	}
	cluster, err := client.Get(ctx, w.group, w.name, nil)
	if err != nil {
		return err
	}
	if !strings.EqualFold(*cluster.ID, w.ID) || *cluster.Name != w.name {
		return fmt.Errorf("another cluster: %s", *cluster.ID)
	}
	if profile := cluster.Properties.ServicePrincipalProfile; profile != nil && profile.ClientSecret != nil {
		return errors.New("a secret is shown")
	}
	password, err := client.ListCredentials(ctx, w.group, w.name, nil)
	if err != nil {
		return err
	}
	if *password.KubeadminUsername != "kubeadmin" || *password.KubeadminPassword == "" {
		return errors.New("no password")
	}
	config, err := client.ListAdminCredentials(ctx, w.group, w.name, nil)
	if err != nil {
		return err
	}
	if config.Kubeconfig == nil || *config.Kubeconfig == "" {
		return errors.New("no kubeconfig")
	}
	// More than a page; no cluster twice.
	listed := []string{}
	for pager := w.clusters(w.Other).NewListPager(nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return err
		}
		listed = append(listed, ids(page.Value)...)
	}
	sort.Strings(listed)
	for at := 1; at < len(listed); at++ {
		if listed[at] == listed[at-1] {
			return fmt.Errorf("%s is listed twice", listed[at])
		}
	}
	seen["listed"], seen["versions"] = listed, offered
	return nil
}

// Errors come as the client's own, with our codes.
func refused(ctx context.Context, w *world, _ map[string]any) error {
	client := w.clusters(w.subscription)
	var told *azcore.ResponseError
	_, err := client.Get(ctx, w.group, "nobody", nil)
	if !errors.As(err, &told) || told.StatusCode != 404 || told.ErrorCode != "ResourceNotFound" {
		return fmt.Errorf("a cluster that is not there: %v", err)
	}
	moon := "moon"
	_, err = client.BeginCreateOrUpdate(ctx, w.group, "wrong", aro.OpenShiftCluster{Location: &moon}, nil)
	if !errors.As(err, &told) || told.StatusCode != 400 || told.ErrorCode == "" {
		return fmt.Errorf("a wrong body: %v", err)
	}
	return nil
}

func update(ctx context.Context, w *world, _ map[string]any) error {
	client, by := w.clusters(w.subscription), "go"
	poller, err := client.BeginUpdate(ctx, w.group, w.name, aro.OpenShiftClusterUpdate{Tags: map[string]*string{"by": &by}}, nil)
	if err != nil {
		return err
	}
	if _, err := poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: time.Second}); err != nil {
		return err
	}
	again, err := client.Get(ctx, w.group, w.name, nil)
	if err != nil {
		return err
	}
	if len(again.Tags) != 1 || again.Tags["by"] == nil || *again.Tags["by"] != by {
		return fmt.Errorf("tags: %v", again.Tags)
	}
	return succeeded(again.OpenShiftCluster)
}

func remove(ctx context.Context, w *world, _ map[string]any) error {
	client := w.clusters(w.subscription)
	// Twice: nothing is there the second time, and that is fine.
	for range 2 {
		poller, err := client.BeginDelete(ctx, w.group, w.name, nil)
		if err != nil {
			return err
		}
		if _, err := poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: time.Second}); err != nil {
			return err
		}
	}
	var told *azcore.ResponseError
	if _, err := client.Get(ctx, w.group, w.name, nil); !errors.As(err, &told) || told.StatusCode != 404 {
		return fmt.Errorf("it is still there: %v", err)
	}
	return nil
}

func ids(clusters []*aro.OpenShiftCluster) []string {
	found := []string{}
	for _, cluster := range clusters {
		found = append(found, strings.ToLower(*cluster.ID))
	}
	return found
}

func contains(list []string, wanted string) bool {
	for _, one := range list {
		if one == wanted {
			return true
		}
	}
	return false
}
