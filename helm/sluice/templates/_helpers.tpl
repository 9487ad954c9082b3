{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Labels of an object. In: {root, part}. */}}
{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{/* An image's reference. In: {root, image}. */}}
{{- define "sluice.image" -}}
{{ .root.Values.images.registry }}{{ .image }}
{{- end -}}

{{/* What every pod has. In: {root, part, account, values}. */}}
{{- define "sluice.pod" -}}
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
serviceAccountName: {{ include "sluice.fullname" .root }}-{{ .account }}
automountServiceAccountToken: {{ .token | default false }}
enableServiceLinks: false
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .values.affinity }}
affinity: {{- toYaml .values.affinity | nindent 2 }}
{{- else if .spread }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "sluice.selector" . | nindent 14 }}
{{- end }}
{{- end -}}

{{/* A container that is an ordinary user's, without any capability. In: uid. */}}
{{- define "sluice.ordinary" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "sluice.slurmUid" -}}64030{{- end -}}
{{- define "sluice.sluiceUid" -}}7700{{- end -}}

{{- define "sluice.keysSecret" -}}
{{- if .Values.slurm.external.enabled -}}
{{ required "slurm.external.keysSecret names the Secret with slurm.key and jwt_hs256.key" .Values.slurm.external.keysSecret }}
{{- else -}}
{{ default (printf "%s-keys" (include "sluice.fullname" .)) .Values.keys.existingSecret }}
{{- end -}}
{{- end -}}

{{- define "sluice.slurmConfigMap" -}}
{{- if .Values.slurm.external.enabled -}}
{{ required "slurm.external.configMap names the ConfigMap with slurm.conf" .Values.slurm.external.configMap }}
{{- else -}}
{{ include "sluice.fullname" . }}-slurm
{{- end -}}
{{- end -}}

{{/*
Makes /etc/slurm: keys of SlurmUser's own, which only this container sees in the Secret, and links to files that
kubelet keeps as the ConfigMap has them. In: {root, jwt, run, more, mounts}: `run` are folders of
the volume run-slurm.
*/}}
{{- define "sluice.etcInit" -}}
- name: etc
  image: {{ include "sluice.image" (dict "root" .root "image" .root.Values.images.slurm) }}
  imagePullPolicy: {{ .root.Values.images.pullPolicy }}
  args:
    - sh
    - -ec
    - |
      umask 077
      install -m 0400 /secrets/keys/slurm.key /etc/slurm/slurm.key
      {{- if .jwt }}
      install -m 0400 /secrets/keys/jwt_hs256.key /etc/slurm/jwt_hs256.key
      {{- end }}
      for file in slurm.conf cgroup.conf gres.conf site.lua; do
        ln -sfn "/etc/sluice/slurm/$file" "/etc/slurm/$file"
      done
      {{- if .run }}
      # Sockets' folders must be SlurmUser's own.
      for folder in {{ .run }}; do mkdir -p -m 0755 "/run/made/$folder"; chmod 0755 "/run/made/$folder"; done
      {{- end }}
      {{- with .more }}
      {{- . | trim | nindent 6 }}
      {{- end }}
  securityContext: {{- include "sluice.ordinary" (include "sluice.slurmUid" .root) | nindent 4 }}
  resources: {requests: {cpu: 5m, memory: 16Mi}}
  volumeMounts:
    - {name: etc-slurm, mountPath: /etc/slurm}
    - {name: keys, mountPath: /secrets/keys, readOnly: true}
    {{- if .run }}
    - {name: run-slurm, mountPath: /run/made}
    {{- end }}
    {{- with .mounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "sluice.etcVolumes" -}}
- name: etc-slurm
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: keys
  secret: {secretName: {{ include "sluice.keysSecret" .root }}, defaultMode: 0444}
- name: slurm-conf
  configMap: {name: {{ include "sluice.slurmConfigMap" .root }}, defaultMode: 0444}
{{- end -}}

{{/* Where the bridge answers other pods. In: root. */}}
{{- define "sluice.bridgeAddress" -}}
tls://{{ include "sluice.fullname" . }}-bridge.{{ .Release.Namespace }}.svc:7443?ca=/run/sluice/bridge-ca/ca.crt&token=/run/sluice/bridge-token/token
{{- end -}}

{{- define "sluice.bridgeMounts" -}}
- {name: bridge-ca, mountPath: /run/sluice/bridge-ca, readOnly: true}
- {name: bridge-token, mountPath: /run/sluice/bridge-token, readOnly: true}
{{- end -}}

{{- define "sluice.bridgeVolumes" -}}
- name: bridge-ca
  secret:
    secretName: {{ include "sluice.fullname" . }}-bridge-tls
    items: [{key: ca.crt, path: ca.crt}]
- name: bridge-token
  projected:
    defaultMode: 0444
    sources:
      - serviceAccountToken: {audience: sluice-bridge, expirationSeconds: 3600, path: token}
{{- end -}}

{{/*
Keeps users (and slurmctld's rules) as the bridge has them. In: {root, caller, policy, wait}: `wait` holds the
other containers until users are there.
*/}}
{{- define "sluice.sync" -}}
- name: sync
  image: {{ include "sluice.image" (dict "root" .root "image" .root.Values.images.gateway) }}
  imagePullPolicy: {{ .root.Values.images.pullPolicy }}
  restartPolicy: Always
  args: [python, -m, bridge.sync]
  env:
    - {name: SLUICE_SYNC_BRIDGE, value: {{ include "sluice.bridgeAddress" .root | quote }}}
    - {name: SLUICE_SYNC_CALLER, value: {{ .caller | quote }}}
    - {name: SLUICE_SYNC_USERS_DIR, value: /var/lib/extrausers}
    - {name: SLUICE_SYNC_EVERY_S, value: {{ .root.Values.sync.everyS | quote }}}
    - {name: SLUICE_SYNC_READY_FILE, value: /run/sync/ready}
    {{- if .policy }}
    - {name: SLUICE_SYNC_POLICY_DIR, value: /var/lib/sluice/policy}
    {{- end }}
  {{- if .wait }}
  startupProbe:
    exec: {command: [test, -e, /run/sync/ready]}
    periodSeconds: 2
    failureThreshold: 1800
  {{- end }}
  securityContext: {{- include "sluice.ordinary" (include "sluice.sluiceUid" .root) | nindent 4 }}
  resources: {{- toYaml .root.Values.sync.resources | nindent 4 }}
  volumeMounts:
    {{- .users | default (list (dict "name" "users" "mountPath" "/var/lib/extrausers")) | toYaml | nindent 4 }}
    - {name: sync, mountPath: /run/sync}
    {{- include "sluice.bridgeMounts" .root | nindent 4 }}
{{- end -}}

{{- define "sluice.syncVolumes" -}}
- name: sync
  emptyDir: {sizeLimit: 1Mi}
{{- include "sluice.bridgeVolumes" . | nindent 0 }}
{{- end -}}

{{/* A claim template. In: {root, name, values}. */}}
{{- define "sluice.claim" -}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: {{ .name }}}
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .values.storageClass }}
    storageClassName: {{ . }}
    {{- end }}
    resources: {requests: {storage: {{ .values.size }}}}
{{- end -}}

{{- define "sluice.claimRetention" -}}
persistentVolumeClaimRetentionPolicy:
  whenDeleted: {{ ternary "Retain" "Delete" .Values.keepState }}
  whenScaled: Retain
{{- end -}}

{{- define "sluice.homeClaim" -}}
{{ default (printf "%s-home" (include "sluice.fullname" .)) .Values.home.existingClaim }}
{{- end -}}

{{- define "sluice.restUrl" -}}
{{- if .Values.slurm.external.enabled -}}
{{ required "slurm.external.restUrl is the address of slurmrestd" .Values.slurm.external.restUrl }}
{{- else -}}
http://{{ include "sluice.fullname" . }}-slurmrestd.{{ .Release.Namespace }}.svc:6820
{{- end -}}
{{- end -}}

{{/* slurm-agent beside gateway and bridge. In: {root, resources}. */}}
{{- define "sluice.agent" -}}
- name: agent
  image: {{ include "sluice.image" (dict "root" .root "image" .root.Values.images.agent) }}
  imagePullPolicy: {{ .root.Values.images.pullPolicy }}
  args: [with-sackd, python, -m, bridge.agent]
  env:
    - {name: SLUICE_AGENT_REST_URL, value: {{ include "sluice.restUrl" .root | quote }}}
  readinessProbe:
    exec: {command: [test, -S, /run/sluice/agent/agent.sock]}
    periodSeconds: 5
  securityContext: {{- include "sluice.ordinary" (include "sluice.slurmUid" .root) | nindent 4 }}
  resources: {{- toYaml .resources | nindent 4 }}
  volumeMounts:
    - {name: etc-slurm, mountPath: /etc/slurm, readOnly: true}
    - {name: slurm-conf, mountPath: /etc/sluice/slurm, readOnly: true}
    - {name: run-slurm, subPath: slurm, mountPath: /run/slurm}
    - {name: run-agent, mountPath: /run/sluice/agent}
    - {name: users, mountPath: /var/lib/extrausers, readOnly: true}
    - {name: tmp-agent, mountPath: /tmp}
{{- end -}}

{{- define "sluice.agentVolumes" -}}
- name: run-slurm
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: run-agent
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: tmp-agent
  emptyDir: {sizeLimit: 256Mi}
{{- end -}}

{{- define "sluice.monitored" -}}
{{- $asked := toString .Values.monitoring.prometheus -}}
{{- if or (eq $asked "true") (and (eq $asked "auto") (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) }}true{{ end -}}
{{- end -}}
