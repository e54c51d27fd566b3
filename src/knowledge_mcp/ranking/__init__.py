"""Improves the ranking of hits: fusion of the legs, reranking, calibration of scores."""
