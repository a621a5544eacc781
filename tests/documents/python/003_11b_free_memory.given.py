import numpy as np
import torch
import os
