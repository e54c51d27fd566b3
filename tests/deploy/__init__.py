"""What deploys the product: the image, compose, the manifests; and any user runs it on a read-only root."""
