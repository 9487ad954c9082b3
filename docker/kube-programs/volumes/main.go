// Command volumes makes persistent volumes: folders of one file system that all nodes share, as a site's NFS
// or Lustre would be. It runs beside the control plane, where the same file system is mounted.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const provisioner = "sluice.sh/shared-folder"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	root := flag.String("root", "/srv/volumes", "the shared file system, here and on every node")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	controller.NewProvisionController(ctx, client, provisioner, folders(*root), controller.LeaderElection(false)).Run(ctx)
}

// folders is the path of the shared file system.
type folders string

// Provision makes a folder that everybody may write: who may is said by the pod's fsGroup, which Kubernetes
// doesn't apply to folders of a host.
func (f folders) Provision(
	_ context.Context, asked controller.ProvisionOptions,
) (*core.PersistentVolume, controller.ProvisioningState, error) {
	path := filepath.Join(string(f), asked.PVName)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	kind := core.HostPathDirectory
	volume := &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: asked.PVName},
		Spec: core.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *asked.StorageClass.ReclaimPolicy,
			AccessModes:                   asked.PVC.Spec.AccessModes,
			Capacity:                      core.ResourceList{core.ResourceStorage: asked.PVC.Spec.Resources.Requests[core.ResourceStorage]},
			PersistentVolumeSource: core.PersistentVolumeSource{
				HostPath: &core.HostPathVolumeSource{Path: path, Type: &kind},
			},
		},
	}
	if asked.SelectedNodeName != "" && asked.StorageClass.Parameters["bound"] == "node" {
		volume.Spec.NodeAffinity = only(asked.SelectedNodeName)
	}
	return volume, controller.ProvisioningFinished, nil
}

// only keeps a volume's pods to one node, as a disk in that node would.
func only(node string) *core.VolumeNodeAffinity {
	match := core.NodeSelectorRequirement{Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: []string{node}}
	term := core.NodeSelectorTerm{MatchExpressions: []core.NodeSelectorRequirement{match}}
	return &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{term}}}
}

// Delete removes a volume's folder, never anything outside the shared file system.
func (f folders) Delete(_ context.Context, volume *core.PersistentVolume) error {
	path := filepath.Join(string(f), volume.Name)
	if volume.Spec.HostPath == nil || volume.Spec.HostPath.Path != path {
		return fmt.Errorf("volume %s is not the folder %s", volume.Name, path)
	}
	return os.RemoveAll(path)
}
