package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// major is in Linux's range for local use and no driver answers: a container that may open its GPU gets ENXIO,
// one that may not gets EPERM.
const major = 240

// claims prepares claims for containers. What is prepared is told by the files of `cdi` alone, one a claim, so
// that a restart loses nothing.
type claims struct {
	driver string
	cdi    string
	faults string // a file unprepare-delay in it, e.g. with "4s", makes the end of each claim slow
	stop   context.CancelFunc
}

// description is what the container runtime reads (CDI 0.6): device files by the name that the kubelet passes on.
type description struct {
	Version string      `json:"cdiVersion"`
	Kind    string      `json:"kind"`
	Devices []cdiDevice `json:"devices"`
	// Annotations name the devices, for whoever looks for one that is in use; admin access uses none.
	Annotations map[string]string `json:"annotations,omitempty"`
}

type cdiDevice struct {
	Name  string   `json:"name"`
	Edits cdiEdits `json:"containerEdits"`
}

type cdiEdits struct {
	Environment []string  `json:"env"`
	DeviceNodes []cdiNode `json:"deviceNodes"`
}

type cdiNode struct {
	Path        string `json:"path"`
	Type        string `json:"type"`
	Major       int    `json:"major"`
	Minor       int    `json:"minor"`
	FileMode    int    `json:"fileMode"`
	Permissions string `json:"permissions"`
}

func (c *claims) kind() string { return c.driver + "/claim" }

func (c *claims) file(claim types.UID) string {
	return filepath.Join(c.cdi, fmt.Sprintf("%s-claim_%s.json", c.driver, claim))
}

// PrepareResourceClaims writes the description of each claim; a second call writes it again.
func (c *claims) PrepareResourceClaims(
	_ context.Context, asked []*resourceapi.ResourceClaim,
) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range asked {
		devices, err := c.prepare(claim)
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: devices, Err: err}
		slog.Info("prepared", "claim", claim.Namespace+"/"+claim.Name, "devices", names(devices), "error", err)
	}
	return results, nil
}

func (c *claims) prepare(claim *resourceapi.ResourceClaim) ([]kubeletplugin.Device, error) {
	inUse, err := c.inUse(claim.UID)
	if err != nil {
		return nil, err
	}
	written := description{Version: "0.6.0", Kind: c.kind(), Annotations: map[string]string{}}
	var devices []kubeletplugin.Device
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != c.driver {
			continue
		}
		minor, err := strconv.Atoi(strings.TrimPrefix(result.Device, "gpu-"))
		if err != nil {
			return nil, fmt.Errorf("there is no device %s", result.Device)
		}
		if result.AdminAccess == nil || !*result.AdminAccess {
			// The last line of defence against one GPU for two owners, which the API server lets pass.
			if holder := inUse[result.Device]; holder != "" {
				return nil, fmt.Errorf("device %s is still prepared for claim %s", result.Device, holder)
			}
			written.Annotations[c.driver+"/"+result.Device] = string(claim.UID)
		}
		name := fmt.Sprintf("%s-%s", claim.UID, result.Device)
		written.Devices = append(written.Devices, cdiDevice{name, edits(minor)})
		devices = append(devices, kubeletplugin.Device{
			Requests:     []string{result.Request},
			PoolName:     result.Pool,
			DeviceName:   result.Device,
			CDIDeviceIDs: []string{c.kind() + "=" + name},
		})
	}
	return devices, c.write(claim.UID, written)
}

func edits(minor int) cdiEdits {
	path := fmt.Sprintf("/dev/nvidia%d", minor)
	return cdiEdits{
		// The NVIDIA runtime, where it is, must add nothing of its own.
		Environment: []string{"NVIDIA_VISIBLE_DEVICES=void"},
		DeviceNodes: []cdiNode{{path, "c", major, minor, 0o666, "rw"}},
	}
}

// write puts the description in place whole or not at all.
func (c *claims) write(claim types.UID, written description) error {
	content, err := json.Marshal(written)
	if err != nil {
		return err
	}
	beside := c.file(claim) + ".new"
	if err := os.WriteFile(beside, content, 0o644); err != nil {
		return err
	}
	return os.Rename(beside, c.file(claim))
}

// inUse returns the claims that hold devices, but for the given one.
func (c *claims) inUse(but types.UID) (map[string]string, error) {
	held := map[string]string{}
	files, err := filepath.Glob(filepath.Join(c.cdi, c.driver+"-claim_*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var found description
		if err := json.Unmarshal(content, &found); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for device, holder := range found.Annotations {
			if holder != string(but) {
				held[strings.TrimPrefix(device, c.driver+"/")] = holder
			}
		}
	}
	return held, nil
}

// UnprepareResourceClaims removes the descriptions; one that is gone already is no error.
func (c *claims) UnprepareResourceClaims(
	ctx context.Context, ended []kubeletplugin.NamespacedObject,
) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range ended {
		c.dawdle(ctx)
		err := os.Remove(c.file(claim.UID))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		results[claim.UID] = err
		slog.Info("unprepared", "claim", claim.Namespace+"/"+claim.Name, "error", err)
	}
	return results, nil
}

func (c *claims) dawdle(ctx context.Context) {
	said, err := os.ReadFile(filepath.Join(c.faults, "unprepare-delay"))
	if err != nil {
		return
	}
	if delay, err := time.ParseDuration(strings.TrimSpace(string(said))); err == nil {
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

// HandleError ends the driver when trying again is of no use; its pod is started anew.
func (c *claims) HandleError(_ context.Context, err error, message string) {
	slog.Error(message, "error", err)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		c.stop()
	}
}

// WatchHealthStatus is never called: the service is off.
func (c *claims) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

func names(devices []kubeletplugin.Device) []string {
	found := make([]string, len(devices))
	for index, device := range devices {
		found[index] = device.DeviceName
	}
	return found
}
