"""Turn page images into words with boxes and confidences, behind a port of the readers."""
