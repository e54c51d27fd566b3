"""The store on Qdrant."""
