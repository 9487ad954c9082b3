// Command gpu-driver is a DRA driver of GPUs that don't exist: it publishes devices with the attributes of
// NVIDIA's driver and gives a container the device files of its claim. One runs on each node, as a pod.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

func main() {
	name := flag.String("driver", "gpu.nvidia.com", "name of the driver")
	node := flag.String("node", os.Getenv("NODE_NAME"), "name of this node")
	gpus := flag.String("gpus", "h100=8", "models and their numbers, in the order of the device files")
	cdi := flag.String("cdi", "/var/run/cdi", "folder of the container runtime's device descriptions")
	plugins := flag.String("plugins", "/var/lib/kubelet/plugins", "the kubelet's folder of plugins")
	flag.Parse()
	if err := run(*name, *node, *gpus, *cdi, filepath.Join(*plugins, *name)); err != nil {
		slog.Error("the driver ended", "error", err)
		os.Exit(1)
	}
}

func run(name, node, asked, cdi, data string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	devices, err := pool(node, asked)
	if err != nil {
		return err
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, folder := range []string{cdi, data} {
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
	}
	claims := &claims{driver: name, cdi: cdi, faults: data, stop: stop}
	helper, err := kubeletplugin.Start(ctx, claims,
		kubeletplugin.DriverName(name),
		kubeletplugin.NodeName(node),
		kubeletplugin.KubeClient(client),
		kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.HealthService(false))
	if err != nil {
		return err
	}
	defer helper.Stop()
	slices := []resourceslice.Slice{{Devices: devices}}
	published := resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{node: {Slices: slices}}}
	if err := helper.PublishResources(ctx, published); err != nil {
		return err
	}
	slog.Info("publishing", "node", node, "devices", len(devices))
	<-ctx.Done()
	return nil
}
