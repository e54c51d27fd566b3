"""What both servers use."""
