"""The local stack in containers: images, network, volumes and containers, by the docker SDK."""
