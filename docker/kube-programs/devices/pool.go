package main

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/deviceattribute"
)

// model is what NVIDIA's driver says of a kind of GPU.
type model struct{ product, architecture, capability, memory string }

var models = map[string]model{
	"h100": {"NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi"},
	"a100": {"NVIDIA A100-SXM4-80GB", "Ampere", "8.0.0", "81920Mi"},
}

const (
	driverVersion = "580.95.5"
	cudaVersion   = "13.0.0"
)

// pool describes a node's devices. A device's name ends in its minor number, that of its file /dev/nvidiaN:
// gres.conf names the same files, so Slurm's index and Kubernetes' device are one.
func pool(node, asked string) ([]resourceapi.Device, error) {
	var devices []resourceapi.Device
	for _, part := range strings.Split(asked, ",") {
		flavor, number, _ := strings.Cut(part, "=")
		known, ok := models[flavor]
		count, err := strconv.Atoi(number)
		if !ok || err != nil || count < 1 {
			return nil, fmt.Errorf("--gpus: %q is not MODEL=NUMBER with MODEL h100 or a100", part)
		}
		for range count {
			devices = append(devices, known.device(node, len(devices)))
		}
	}
	return devices, nil
}

func (m model) device(node string, minor int) resourceapi.Device {
	text := func(value string) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{StringValue: &value}
	}
	version := func(value string) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{VersionValue: &value}
	}
	numa := int64(minor / 4)
	bus := fmt.Sprintf("0000:%02x:00.0", 0x18+8*minor)
	return resourceapi.Device{
		Name: fmt.Sprintf("gpu-%d", minor),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"type":                  text("gpu"),
			"uuid":                  text(uuid(node, minor)),
			"productName":           text(m.product),
			"brand":                 text("Nvidia"),
			"architecture":          text(m.architecture),
			"cudaComputeCapability": version(m.capability),
			"driverVersion":         version(driverVersion),
			"cudaDriverVersion":     version(cudaVersion),
			"pcieBusID":             text(bus),
			"addressingMode":        text("HMM"),
			deviceattribute.StandardDeviceAttributePCIBusID: text(bus),
			deviceattribute.StandardDeviceAttributePCIeRoot: text(fmt.Sprintf("pci0000:%02x", 0x10+8*minor)),
			deviceattribute.StandardDeviceAttributeNUMANode: {IntValue: &numa},
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: resource.MustParse(m.memory)},
		},
	}
}

// uuid is the same after each restart, as a real device's is.
func uuid(node string, minor int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", node, minor))
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
