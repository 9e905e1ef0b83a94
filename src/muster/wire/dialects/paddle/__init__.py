"""Jobs of PaddlePaddle's own systems: PaddleJobs of paddle-operator, and what the client of paddlecloud submits."""
