"""Page images to words with boxes and confidences, handed to the readers as a port."""
